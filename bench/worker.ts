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
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import type { Caller, ThreadStub } from "#ports/thread-gateway.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import { socketProtocol } from "#protocols/websocket/encode.ts";
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
    clock: new SystemClock(),
    agents: new Map([["bench", bench]]),
    models: { resolve: () => model },
    sandbox: NO_SANDBOX,
    schemas: new ZodJsonSchemas(),
    prices: NO_PRICES,
    hooks: DEFAULT_HOOKS,
    versions: { promoted: async () => null },
    inbox: { opened: async () => undefined, closed: async () => undefined, list: async () => [] },
    directory: {
      register: async (record) => record,
      get: async () => null,
      list: async () => [],
      touch: async () => undefined,
    },
    socketProtocol,
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

/** The floor: head read, two hashes and one row an event, in as many transactions as a thread needs for a step. */
export class FloorObject extends DurableObject {
  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, header TEXT, hash TEXT, salt BLOB, payload BLOB)",
    );
  }

  async steps(
    count: number,
    transactions: readonly number[],
    bytes: number,
  ): Promise<readonly number[]> {
    const payload = new TextEncoder().encode(`{"text":"${"x".repeat(bytes)}"}`);
    const marks: number[] = [];
    for (let step = 0; step < count; step += 1) {
      marks.push(performance.now());
      for (const rows of transactions) {
        // A thread goes through the event loop between its transactions, because a model and a tool stand between them.
        await Promise.resolve();
        this.ctx.storage.transactionSync(() => this.#append(rows, payload));
      }
    }
    marks.push(performance.now());
    return marks;
  }

  #append(rows: number, payload: Uint8Array): void {
    const { sql } = this.ctx.storage;
    const [head] = sql.exec("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").toArray();
    let seq = Number(head?.["seq"] ?? 0);
    let prev = String(head?.["hash"] ?? "0".repeat(64));
    for (let row = 0; row < rows; row += 1) {
      seq += 1;
      const salt = crypto.getRandomValues(new Uint8Array(16));
      const digest = createHash("sha256").update(salt).update(payload).digest("hex");
      const header = JSON.stringify({ ...HEADER, seq, at: Date.now(), digest, prev });
      prev = createHash("sha256").update(header).digest("hex");
      sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", seq, header, prev, salt, payload);
    }
  }
}

/** As many fields as a header of the log has. */
const HEADER = Object.fromEntries(
  Array.from({ length: 30 }, (_unused, index) => [
    `field${index}`,
    index % 3 === 0 ? "value" : null,
  ]),
);

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
    await new Promise((resolve) => setTimeout(resolve, 20));
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
      const transactions = (url.searchParams.get("transactions") ?? "1,1,1,1")
        .split(",")
        .map(Number);
      return Response.json({
        marks: await floor.steps(Number(url.searchParams.get("steps")), transactions, 300),
      });
    }
    return new Response("no such bench", { status: 404 });
  },
} satisfies ExportedHandler<BenchEnv>;
