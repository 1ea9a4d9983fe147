/** An agent whose answers are documents, for tests of what a client's compiler and its users see of it. */
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";

const forecast = defineTool({
  name: "forecast",
  description: "Tells tomorrow's temperature.",
  version: "1",
  input: z.object({ city: z.string(), days: z.int().default(1) }),
  effect: "read",
  execute: ({ city, days }) => ({ city, celsius: 3 + days }),
});
const alarm = defineTool({
  name: "alarm",
  description: "Warns a region.",
  version: "1",
  input: z.object({ region: z.string() }),
  effect: "once",
  approval: "always",
  execute: ({ region }) => `warned ${region}`,
});

export const weatherAgent = defineAgent({
  name: "weather",
  description: "Answers with a document.",
  instructions: "Do what the message says.",
  model: "test/obeys",
  tools: [forecast, alarm],
  output: z.object({ city: z.string(), celsius: z.number() }),
});
