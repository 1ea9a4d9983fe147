/** A thread of the bench: the product's own parts, and nothing behind the ports that no run of a bench reaches. */
import type { ThreadComposition } from "../durable-objects/agent/composition.ts";
import { OBJECT_MIGRATIONS } from "../migrations/object/index.ts";
import { SystemClock } from "../src/adapters/clock/system-clock.ts";
import { CronerCron } from "../src/adapters/cron/croner-cron.ts";
import { ZodJsonSchemas } from "../src/adapters/json-schema/zod-json-schemas.ts";
import { THREAD_CATALOGUE } from "../src/kernel/event-upcast.ts";
import type { AgentDefinition } from "../src/ports/agent-definition.ts";
import type { Model } from "../src/ports/model.ts";
import type { RoutePrice } from "../src/ports/prices.ts";
import type { Sandbox } from "../src/ports/sandbox.ts";
import { socketProtocol } from "../src/protocols/websocket/encode.ts";
import { DEFAULT_HOOKS } from "../src/runner/default-hooks.ts";
import { trusted } from "../src/shared/ids.ts";

const NO_SANDBOX: Sandbox = {
  id: "none",
  run: () => Promise.reject(new Error("the bench runs no code")),
};

/** Known, so that caps are checked as in a deployment, and never reached, however long a bench runs. */
const FREE: RoutePrice = { version: "bench", inputMicrosPerMillion: 0, outputMicrosPerMillion: 0 };

/** No key, so nothing is anchored: anchors are no part of a step. */
const NO_ANCHORS = {
  put: async () => [],
  list: async () => [],
  newest: async () => null,
  logs: async () => [],
  ofThread: async () => [],
};
const UNSIGNED: ThreadComposition["audit"] = {
  signer: null,
  keys: [],
  check: { verify: async () => false },
  anchors: NO_ANCHORS,
  copies: NO_ANCHORS,
};

export function composeBench(agent: AgentDefinition, model: Model): ThreadComposition {
  return {
    catalogue: THREAD_CATALOGUE,
    migrations: OBJECT_MIGRATIONS,
    clock: new SystemClock(),
    cron: new CronerCron(),
    agents: new Map([[agent.manifest.name, agent]]),
    models: { resolve: () => model },
    sandbox: NO_SANDBOX,
    schemas: new ZodJsonSchemas(),
    prices: () => ({ price: () => FREE }),
    hooks: () => DEFAULT_HOOKS,
    ledgers: {
      ledger: () => {
        throw new Error("these hooks ask no ledger");
      },
    },
    keys: {
      findById: async (id) => ({
        id,
        tenant: trusted("bench"),
        kind: "service",
        name: id,
        scopes: ["admin"],
        createdAt: 0,
        expiresAt: null,
        revokedAt: null,
      }),
    },
    inbox: { opened: async () => undefined, closed: async () => undefined, list: async () => [] },
    runIndex: { put: async () => undefined, list: async () => [], count: async () => 0 },
    socketProtocol,
    audit: UNSIGNED,
    spend: {
      counted: async () => 0,
      add: async () => true,
      entries: async () => [],
      replace: async () => true,
      sum: async () => [],
    },
    metrics: {
      counted: async () => 0,
      add: async () => true,
      report: async () => undefined,
      read: async () => ({ counters: [], openApprovals: [], health: [], stalled: [] }),
    },
    versions: { promoted: async () => null },
    directory: {
      register: async (record) => record,
      get: async () => null,
      list: async () => [],
      touch: async () => undefined,
    },
    archive: { put: async () => undefined, delete: async () => undefined },
    erasers: [],
    report: () => undefined,
    idleMs: 60_000,
    heartbeatMs: 20_000,
  };
}
