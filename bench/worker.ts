/**
 * Entry of the bench build: a real thread with an instant model and an instant tool, and beside it the floor, an object
 * that writes the same number of hash-linked rows in the same transactions by hand.
 */
import { createHash } from "node:crypto";
import { DurableObject } from "cloudflare:workers";
import { z } from "zod";
import { ZodJsonSchemas } from "#adapters/json-schema/zod-json-schemas.ts";
import { SystemClock } from "#adapters/clock/system-clock.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import type { Caller, ThreadStub } from "#ports/thread-gateway.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import { DEFAULT_HOOKS, NO_PRICES } from "#runner/default-hooks.ts";
import { fromObjectName, type TenantId } from "#shared/ids.ts";

interface BenchEnv extends Cloudflare.Env {
  readonly AGENT: DurableObjectNamespace;
  readonly FLOOR: DurableObjectNamespace<FloorObject>;
}

const USAGE = {
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
};

/** Asks for `calls` tool calls in each of `steps` steps, then says that it is done. Marks the time of each request. */
class InstantModel implements Model {
  readonly route = "bench/instant";
  marks: number[] = [];
  firstTextAt: number | null = null;
  #left = 0;
  #calls = 1;
  #text = "done";

  begin(steps: number, calls: number, text = "done"): void {
    this.#left = steps;
    this.#calls = calls;
    this.#text = text;
    this.marks = [];
  }

  async *stream(_request: ModelRequest): AsyncGenerator<ModelPart> {
    this.marks.push(performance.now());
    if (this.#left > 0) {
      this.#left -= 1;
      for (let index = 0; index < this.#calls; index += 1) {
        yield {
          type: "call",
          providerCallId: `c${index}`,
          name: "tick",
          argsText: `{"n":${index}}`,
        };
      }
      yield { type: "finish", reason: "tool_calls", raw: "tool_calls", usage: USAGE };
      return;
    }
    yield { type: "text", text: this.#text };
    yield { type: "finish", reason: "stop", raw: "stop", usage: USAGE };
  }
}

const model = new InstantModel();
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

export class AgentObject extends ThreadAgent<BenchEnv> {
  static override readonly compose = (): ThreadComposition => ({
    catalogue: THREAD_CATALOGUE,
    migrations: OBJECT_MIGRATIONS,
    clock: new SystemClock(),
    agents: new Map([["bench", bench]]),
    models: { resolve: () => model },
    sandbox: NO_SANDBOX,
    schemas: new ZodJsonSchemas(),
    prices: NO_PRICES,
    hooks: DEFAULT_HOOKS,
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

  /** Milliseconds that opening the thread's storage and folding its log takes. */
  async reopen(): Promise<readonly number[]> {
    const address = fromObjectName(this.ctx.id.name ?? "");
    if (address === null) throw new Error("a bench thread has a name");
    return Array.from({ length: 20 }, () => {
      const startedAt = performance.now();
      void new ThreadHost(address, this.ctx.storage, AgentObject.compose());
      return performance.now() - startedAt;
    });
  }
}

/**
 * The floor: the rows of a step as one would write them by hand, in as many transactions as a thread needs: the same
 * header fields, payloads of the same size, salt, digest and chain. No state, no rules, no projections.
 */
export class FloorObject extends DurableObject {
  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, header TEXT NOT NULL, hash TEXT NOT NULL, salt BLOB, payload BLOB) STRICT",
    );
  }

  async steps(count: number, calls: number): Promise<readonly number[]> {
    const transactions = [["model.requested"], ["model.answered"], fill(calls, "tool.started")];
    const marks: number[] = [];
    for (let step = 0; step < count; step += 1) {
      marks.push(performance.now());
      // Calls of a round finish one by one.
      for (const types of [...transactions, ...fill(calls, ["tool.finished"])]) {
        await Promise.resolve();
        this.ctx.storage.transactionSync(() => this.#append(types, step));
      }
    }
    marks.push(performance.now());
    return marks;
  }

  #append(types: readonly string[], step: number): void {
    const { sql } = this.ctx.storage;
    const [head] = sql.exec("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").toArray();
    let seq = Number(head?.["seq"] ?? 0);
    let prev = String(head?.["hash"] ?? "0".repeat(64));
    for (const type of types) {
      seq += 1;
      const salt = crypto.getRandomValues(new Uint8Array(16));
      const payload = new TextEncoder().encode(JSON.stringify(FLOOR_PAYLOADS[type]));
      const digest = createHash("sha256").update(salt).update(payload).digest("hex");
      const header = JSON.stringify(
        floorHeader({ seq, type, step, digest, bytes: payload.byteLength, prev }),
      );
      prev = createHash("sha256").update(header).digest("hex");
      sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", seq, header, prev, salt, payload);
    }
  }
}

function fill<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

const ID = "evt_0123456789abcdef01234567";
const DIGEST = "0".repeat(64);
const VERDICTS = { policy: "allow", guardrail: "none", loopGuard: "none" };
const SETTLEMENT = { costMicros: 0, tokens: 15, estimated: false };

/** What a step of this bench stores, by type. */
const FLOOR_PAYLOADS: Readonly<Record<string, object>> = {
  "model.requested": {
    compiler: 1,
    refs: {
      base: 1_000,
      drop: 0,
      add: [
        [1_001, 0, 0],
        [1_003, 0, 0],
      ],
    },
    digest: DIGEST,
    route: "bench/instant",
    settings: { maxOutputTokens: 4_096, temperature: null },
    steered: [],
    verdicts: VERDICTS,
    reservation: { costMicros: 0, tokens: 5_000 },
  },
  "model.answered": {
    parts: [
      {
        type: "call",
        callId: ID,
        providerCallId: "c0",
        name: "tick",
        argsText: '{"n":0}',
        args: { n: 0 },
        refusal: null,
      },
    ],
    finish: "tool_calls",
    rawFinish: "tool_calls",
    usage: USAGE,
    output: null,
    meta: {},
    settlement: SETTLEMENT,
  },
  "tool.started": {
    name: "tick",
    version: "1",
    args: { n: 0 },
    effect: "read",
    idempotencyKey: ID,
    mode: "execute",
    verdicts: VERDICTS,
    reservation: { costMicros: 0, tokens: 0 },
  },
  "tool.finished": {
    result: { status: "ok", code: null, output: "tick 0", bytes: 6, handle: null },
    settlement: SETTLEMENT,
  },
};

interface FloorRow {
  readonly seq: number;
  readonly type: string;
  readonly step: number;
  readonly digest: string;
  readonly bytes: number;
  readonly prev: string;
}

function floorHeader({ seq, type, step, digest, bytes, prev }: FloorRow): object {
  return {
    actor: null,
    agent: "bench",
    at: Date.now(),
    attempt: 1,
    call: ID,
    cause: ID,
    costKind: "normal",
    costMicros: 0,
    deadline: null,
    definition: DIGEST,
    depth: null,
    epoch: 1,
    id: ID,
    leaseId: null,
    logId: ID,
    origin: null,
    parentRun: null,
    parentSpanId: null,
    payload: { bytes, digest, encoding: "json", keyId: null, ref: null },
    prev,
    priceVersion: null,
    rootRun: null,
    run: ID,
    seq,
    spanId: null,
    step,
    subject: null,
    tenant: "bench",
    thread: "bench",
    traceId: null,
    type,
    version: 1,
  };
}

const CALLER: Caller = {
  tenant: "bench" as TenantId,
  kind: "service",
  id: "bench",
  scopes: ["admin"],
};

async function runThread(env: BenchEnv, url: URL): Promise<object> {
  const stub = env.AGENT.get(
    env.AGENT.idFromName(`v1/bench/bench/${url.searchParams.get("thread") ?? "t"}`),
  ) as unknown as ThreadStub & {
    reopen(): Promise<readonly number[]>;
  };
  if (url.searchParams.has("open")) return { openMs: await stub.reopen() };
  const steps = Number(url.searchParams.get("steps") ?? "20");
  model.begin(steps, Number(url.searchParams.get("calls") ?? "1"));
  await stub.create(CALLER, null, null);
  const before = await head(stub);
  const sentAt = performance.now();
  const sent = await stub.send(
    CALLER,
    { text: "go", delivery: "queue", output: null, messageId: null },
    null,
  );
  if (!sent.ok || sent.value.runId === null) throw new Error(JSON.stringify(sent));
  const { runId } = sent.value;
  await ended(stub, runId);
  const endedAt = performance.now();
  const run = await stub.run(CALLER, runId);
  return {
    wallMs: endedAt - sentAt,
    rows: (await head(stub)) - before,
    marks: [...model.marks, endedAt],
    status: run.ok ? run.value.status : "unknown",
  };
}

/** Polls seldom, so that a reader's stream is no part of what a step costs. */
async function ended(stub: ThreadStub, runId: string): Promise<void> {
  for (;;) {
    const run = await stub.run(CALLER, runId);
    if (run.ok && run.value.endedAt !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function head(stub: ThreadStub): Promise<number> {
  const view = await stub.view(CALLER);
  return view.ok ? view.value.head.seq : 0;
}

export default {
  async fetch(request: Request, env: BenchEnv): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/thread") return Response.json(await runThread(env, url));
    if (url.pathname === "/floor") {
      const floor = env.FLOOR.get(env.FLOOR.idFromName(url.searchParams.get("thread") ?? "t"));
      const count = Number(url.searchParams.get("steps") ?? "20");
      return Response.json({
        marks: await floor.steps(count, Number(url.searchParams.get("calls") ?? "1")),
      });
    }
    return new Response("no such bench", { status: 404 });
  },
} satisfies ExportedHandler<BenchEnv>;
