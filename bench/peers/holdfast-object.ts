/** Our contender: a thread as the product composes it, without the stores that a bench has no use for. */
import { z } from "zod";
import { ThreadAgent } from "../../durable-objects/agent-object.ts";
import type { ThreadComposition } from "../../durable-objects/agent/composition.ts";
import { AiSdkModel } from "../../src/adapters/model/ai-sdk-model.ts";
import { defineAgent } from "../../src/authoring/define-agent.ts";
import { defineTool } from "../../src/authoring/define-tool.ts";
import { composeBench } from "../composition.ts";
import { patchStorage } from "./count-rows.ts";
import { ScriptedLanguageModel, tell } from "./scripted-model.ts";

const tick = defineTool({
  name: "tick",
  description: "Does nothing.",
  version: "1",
  input: z.object({ n: z.number(), report: z.string().nullable() }),
  effect: "once",
  limits: { maxCallsPerRun: 1_000 },
  execute: async ({ n, report }) => {
    await tell(report, "tool", n);
    return `tick ${n}`;
  },
});
const model = new AiSdkModel({ route: "bench/scripted", model: new ScriptedLanguageModel() });
const agent = defineAgent({
  name: "holdfast",
  description: "Measures a run.",
  instructions: "Tick until told to stop.",
  model: model.route,
  tools: [tick],
  limits: { maxSteps: 40 },
});

export class HoldfastPeer extends ThreadAgent<Cloudflare.Env> {
  static override readonly compose = (): ThreadComposition =>
    composeBench({
      agent,
      model,
      ledger: () => {
        throw new Error("these hooks ask no ledger");
      },
    });

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    patchStorage(ctx);
    super(ctx, env);
  }
}
