/**
 * The peers, as their own documentation says to write them. JavaScript, because their packages belong to this folder and
 * are not there when the product is checked.
 */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { Think } from "@cloudflare/think";
import { convertToModelMessages, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { patchStorage } from "./count-rows.ts";
import { ScriptedLanguageModel, tell } from "./scripted-model.ts";

const MAX_STEPS = 40;
const model = new ScriptedLanguageModel();
const tools = {
  tick: tool({
    description: "Does nothing.",
    inputSchema: z.object({ n: z.number(), report: z.string().nullable() }),
    execute: async ({ n, report }) => {
      await tell(report, "tool", n);
      return `tick ${n}`;
    },
  }),
};

export class ChatPeer extends AIChatAgent {
  constructor(ctx, env) {
    patchStorage(ctx);
    super(ctx, env);
  }

  async onChatMessage() {
    const result = streamText({
      model,
      instructions: "Tick until told to stop.",
      messages: await convertToModelMessages(this.messages),
      tools,
      stopWhen: isStepCount(MAX_STEPS),
    });
    return result.toUIMessageStreamResponse();
  }

  /** Earlier turns, by the method that its documentation names for it. */
  async prefill(messages) {
    await this.persistMessages([...this.messages, ...messages]);
  }
  async shown() {
    return this.messages;
  }
}

export class ThinkPeer extends Think {
  maxSteps = MAX_STEPS;

  constructor(ctx, env) {
    patchStorage(ctx);
    super(ctx, env);
  }

  getModel() {
    return model;
  }
  getSystemPrompt() {
    return "Tick until told to stop.";
  }
  getTools() {
    return tools;
  }

  async prefill(messages) {
    await this.addMessages(messages, { broadcast: false });
  }
  async shown() {
    return this.messages;
  }
}
