/** A real thread, from storage to runner, with a model and a tool that take no time. */
import { z } from "zod";
import { ThreadAgent } from "../durable-objects/agent-object.ts";
import type { ThreadComposition } from "../durable-objects/agent/composition.ts";
import { ThreadHost } from "../durable-objects/agent/thread-host.ts";
import { OBJECT_MIGRATIONS } from "../migrations/object/index.ts";
import { SystemClock } from "../src/adapters/clock/system-clock.ts";
import { ZodJsonSchemas } from "../src/adapters/json-schema/zod-json-schemas.ts";
import { defineAgent } from "../src/authoring/define-agent.ts";
import { defineTool } from "../src/authoring/define-tool.ts";
import { THREAD_CATALOGUE } from "../src/kernel/event-upcast.ts";
import { socketProtocol } from "../src/protocols/websocket/encode.ts";
import type { Sandbox } from "../src/ports/sandbox.ts";
import { DEFAULT_HOOKS, NO_PRICES } from "../src/runner/default-hooks.ts";
import { fromObjectName } from "../src/shared/ids.ts";
import { InstantModel } from "./instant-model.ts";

export const model = new InstantModel();
const NO_SANDBOX: Sandbox = {
  id: "none",
  run: () => Promise.reject(new Error("the bench runs no code")),
};
const tick = defineTool({
  name: "tick",
  description: "Does nothing.",
  version: "1",
  input: z.object({ n: z.number() }),
  effect: "read",
  limits: { maxCallsPerRun: 1_000_000 },
  execute: async ({ n }) => `tick ${n}`,
});
const bench = defineAgent({
  name: "bench",
  description: "Measures a step.",
  instructions: "Tick until told to stop.",
  model: model.route,
  tools: [tick],
  limits: { maxSteps: 100_000 },
});

export class AgentObject extends ThreadAgent<Cloudflare.Env> {
  static override readonly compose = (): ThreadComposition => ({
    catalogue: THREAD_CATALOGUE,
    migrations: OBJECT_MIGRATIONS,
    clock: new SystemClock(),
    agents: new Map([["bench", bench]]),
    models: { resolve: () => model },
    sandbox: NO_SANDBOX,
    schemas: new ZodJsonSchemas(),
    prices: () => NO_PRICES,
    hooks: () => DEFAULT_HOOKS,
    inbox: { opened: async () => undefined, closed: async () => undefined, list: async () => [] },
    socketProtocol,
    versions: { promoted: async () => null },
    directory: {
      register: async (record) => record,
      get: async () => null,
      list: async () => [],
      touch: async () => undefined,
    },
    archive: { put: async () => undefined, delete: async () => undefined },
    report: () => undefined,
    idleMs: 60_000,
    heartbeatMs: 20_000,
  });

  /** Mean milliseconds that opening the thread's storage and folding its log takes. */
  async reopen(times: number): Promise<number> {
    const address = fromObjectName(this.ctx.id.name ?? "");
    if (address === null) throw new Error("a bench thread has a name");
    const startedAt = performance.now();
    for (let time = 0; time < times; time += 1)
      void new ThreadHost(address, this.ctx.storage, AgentObject.compose());
    return (performance.now() - startedAt) / times;
  }
}
