/**
 * The agent that the MCP project's conformance suites call: their fixed tools, prompts and resources, as an agent's
 * definition, so that what is judged is the product's own server.
 */
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool, defineToolFromJsonSchema } from "#authoring/define-tool.ts";
import { call, done, exportPlan, exportTool } from "#authoring/export-tool.ts";
import { ToolContent, type ContentPart } from "#ports/content.ts";
import type { Tool, ToolContext } from "#ports/tool.ts";
import type { Json } from "#shared/json.ts";
import { RED_PIXEL, SILENCE } from "./media.ts";
import { PROMPTS, RESOURCES } from "./prompts-and-resources.ts";
import { askGreeting, askName, askRoots, askStep, QUESTIONS } from "./questions.ts";

const IMAGE = { type: "image", data: RED_PIXEL, mimeType: "image/png" } as const;

function plain(name: string, run: (context: ToolContext) => Promise<Json | ToolContent>): Tool {
  return defineTool({
    name,
    description: `For the suite: ${name}.`,
    version: "1",
    input: z.object({}),
    effect: "read",
    execute: (_args, context) => run(context),
  });
}

function gives(name: string, ...parts: readonly ContentPart[]): Tool {
  return plain(name, async () => new ToolContent(parts));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function logs({ report }: ToolContext): Promise<string> {
  const say = (data: string): void => report({ type: "log", level: "info", data });
  say("Tool execution started");
  await pause(50);
  say("Tool processing data");
  await pause(50);
  say("Tool execution completed");
  return "Logged three lines.";
}

async function progresses({ report }: ToolContext): Promise<string> {
  for (const progress of [0, 50, 100]) {
    report({ type: "progress", progress, total: 100, message: null });
    await pause(50);
  }
  return "Reported progress.";
}

const SIMPLE: readonly Tool[] = [
  plain("test_simple_text", async () => "This is a simple text response for testing."),
  gives("test_image_content", IMAGE),
  gives("test_audio_content", { type: "audio", data: SILENCE, mimeType: "audio/wav" }),
  gives("test_embedded_resource", {
    type: "resource",
    resource: {
      uri: "test://embedded-resource",
      mimeType: "text/plain",
      text: "This is an embedded resource content.",
    },
  }),
  gives(
    "test_multiple_content_types",
    { type: "text", text: "Multiple content types test:" },
    IMAGE,
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: JSON.stringify({ test: "data", value: 123 }),
      },
    },
  ),
  plain("test_tool_with_logging", logs),
  plain("test_logging_tool", async ({ report }) => {
    report({ type: "log", level: "info", data: "A line." });
    return "Logged a line.";
  }),
  plain("test_tool_with_progress", progresses),
  plain("test_error_handling", async () => {
    throw new Error("This tool intentionally returns an error for testing");
  }),
];

const reconnection = plain("test_reconnection", async () => {
  await pause(300);
  return "Reconnection test completed";
});
const headers = defineToolFromJsonSchema({
  name: "test_custom_header",
  description: "Takes an argument that is a header, too.",
  version: "1",
  inputSchema: {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
    required: ["region"],
  },
  effect: "read",
  execute: ({ region }) => `region ${String(region)}`,
});
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;
const schema = defineTool({
  name: "json_schema_2020_12_tool",
  description: "Tool with JSON Schema 2020-12 features",
  version: "1",
  input: z.looseObject({}),
  effect: "read",
  execute: (args) => JSON.stringify(args),
});
const greet = defineTool({
  name: "greet",
  description: "Greets.",
  version: "1",
  input: z.object({ name: z.string() }),
  effect: "read",
  execute: ({ name }) => `Hello, ${name}!`,
});
const compute = defineTool({
  name: "slow_compute",
  description: "Takes the seconds that it is told.",
  version: "1",
  input: z.object({ seconds: z.number().min(0).max(120), label: z.string().optional() }),
  effect: "read",
  limits: { timeoutMs: 150_000 },
  execute: async ({ seconds, label }, { signal }) => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, seconds * 1_000);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    return `computed ${label ?? ""}`;
  },
});
const failing = plain("failing_job", async () => {
  await pause(1_000);
  throw new Error("The job failed.");
});

const PARTS = [askName, askGreeting, askRoots, askStep];
const SINGLE = [...SIMPLE, headers];
const TASKS = { tasks: "optional" } as const;
const SYNC = { tasks: "forbidden" } as const;

export const MCP_FIXTURE = defineAgent({
  name: "everything",
  description: "Everything that a conformance suite calls.",
  instructions: "Do what the suite says.",
  model: "embedded/scripted",
  tools: [...SINGLE, schema, reconnection, greet, compute, failing, ...QUESTIONS, ...PARTS],
  exports: {
    tools: [
      ...SINGLE.map((tool) => exportTool(tool, SYNC)),
      exportTool(schema, { ...SYNC, inputSchema: SCHEMA }),
      exportTool(reconnection, { ...SYNC, slow: true }),
      exportTool(greet, SYNC),
      exportTool(compute, TASKS),
      exportTool(failing, { tasks: "required" }),
      ...QUESTIONS.map((tool) => exportTool(tool, toTasks(tool.name))),
      exportPlan({
        name: "test_input_required_result_multiple_inputs",
        description: "Asks three things at once.",
        input: z.object({}),
        uses: [askName, askGreeting, askRoots],
        ...SYNC,
        next: (_args, rounds) =>
          rounds.length > 0
            ? done()
            : call(
                { tool: "ask_name", args: {} },
                { tool: "ask_greeting", args: {} },
                { tool: "ask_roots", args: {} },
              ),
      }),
      exportPlan({
        name: "test_input_required_result_multi_round",
        description: "Asks, and asks again.",
        input: z.object({}),
        uses: [askStep],
        ...SYNC,
        next: (_args, rounds) => {
          const [first, second] = rounds.map(([result]) => result?.text ?? "");
          if (first === undefined) return step("step1", "Step 1: What is your name?", "name");
          if (second === undefined)
            return step("step2", "Step 2: What is your favorite color?", "color");
          return done(`${first} likes ${second}.`);
        },
      }),
      exportPlan({
        name: "multi_input",
        description: "Asks two things at once, as a task.",
        input: z.object({}),
        uses: [askStep],
        ...TASKS,
        next: (_args, rounds) =>
          rounds.length > 0
            ? done()
            : call(
                toStep("first", "The first thing?", "name"),
                toStep("second", "The second thing?", "name"),
              ),
      }),
      exportPlan({
        name: "protocol_error_job",
        description: "Cannot go on.",
        input: z.object({}),
        uses: [],
        ...TASKS,
        next: () => ({ type: "fail", message: "The plan gave up." }),
      }),
      exportPlan({
        name: "structured_result",
        description: "Answers with an object of a known form.",
        input: z.object({}),
        uses: [],
        ...SYNC,
        outputSchema: { type: "object", properties: { sum: { type: "number" } } },
        next: () => done('{"sum":5}'),
      }),
    ],
    prompts: PROMPTS,
    resources: RESOURCES,
  },
});

function toTasks(name: string) {
  if (name === "confirm_delete") return TASKS;
  return name === "test_tool_with_task" ? ({ tasks: "required", asksFirst: true } as const) : SYNC;
}

function step(key: string, message: string, field: string) {
  return call(toStep(key, message, field));
}

function toStep(key: string, message: string, field: string) {
  return { tool: "ask_step", args: { key, message, field } };
}
