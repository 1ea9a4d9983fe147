/** A thread of the bench: the product's own parts, and nothing behind the ports that no run of a bench reaches. */
import type { ThreadComposition } from "../durable-objects/agent/composition.ts";
import { OBJECT_MIGRATIONS } from "../migrations/object/index.ts";
import { SystemClock } from "../src/adapters/clock/system-clock.ts";
import { CronerCron } from "../src/adapters/cron/croner-cron.ts";
import { ZodJsonSchemas } from "../src/adapters/json-schema/zod-json-schemas.ts";
import { THREAD_CATALOGUE } from "../src/kernel/event-upcast.ts";
import type { AgentDefinition } from "../src/ports/agent-definition.ts";
import type { LedgerStub } from "../src/ports/budget-ledger.ts";
import type { Model } from "../src/ports/model.ts";
import type { RoutePrice } from "../src/ports/prices.ts";
import type { Sandbox } from "../src/ports/sandbox.ts";
import { socketProtocol } from "../src/protocols/websocket/encode.ts";
import type { WebhookStore } from "../src/ports/webhook-store.ts";
import { DEFAULT_HOOKS } from "../src/runner/default-hooks.ts";
import type { GateHooks } from "../src/runner/gate-hooks.ts";
import { LeaseBudget } from "../src/runner/lease-budget.ts";
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
export const UNSIGNED: ThreadComposition["audit"] = {
  signer: null,
  keys: [],
  check: { verify: async () => false },
  anchors: NO_ANCHORS,
  copies: NO_ANCHORS,
};

/** Nothing but policy: what a step costs without loop guard and budget. */
const BARE_HOOKS: GateHooks = {
  ...DEFAULT_HOOKS,
  loopGuard: { check: () => ({ allow: true, verdict: "none" }) },
};

export interface BenchParts {
  readonly agent: AgentDefinition;
  readonly model: Model;
  readonly ledger: () => LedgerStub;
}

/** Hooks by the thread's name: `bare-`, `full-` with a ledger as in a deployment, else the loop guard alone. */
export function composeBench({ agent, model, ledger }: BenchParts): ThreadComposition {
  const clock = new SystemClock();
  const hooks: ThreadComposition["hooks"] = (thread) => {
    if (thread.thread.startsWith("bare-")) return BARE_HOOKS;
    if (!thread.thread.startsWith("full-")) return DEFAULT_HOOKS;
    return { ...DEFAULT_HOOKS, budget: new LeaseBudget({ thread, clock, ledger }) };
  };
  return {
    catalogue: THREAD_CATALOGUE,
    migrations: OBJECT_MIGRATIONS,
    clock,
    cron: new CronerCron(),
    agents: new Map([[agent.manifest.name, agent]]),
    models: { resolve: () => model },
    sandbox: NO_SANDBOX,
    schemas: new ZodJsonSchemas(),
    prices: () => ({ price: () => FREE }),
    hooks,
    ledgers: { ledger },
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
    retention: { find: async () => null },
    inbox: { opened: async () => undefined, closed: async () => undefined, list: async () => [] },
    push: {
      sender: { post: async () => ({ type: "answered", status: 200, retryAfterMs: null }) },
      protocol: { encode: () => null },
    },
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
    webhooks: {
      // A tenant without any: nothing else of the store is asked.
      store: { list: async () => [] } as unknown as WebhookStore,
      sender: { post: async () => Promise.reject(new Error("nobody is told")) },
      box: null,
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
