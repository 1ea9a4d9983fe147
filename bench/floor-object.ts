/** The floor of a durable step: what a thread has to write, by hand. Rows, sizes and transactions are a thread's own. */
import { DurableObject } from "cloudflare:workers";
import { NodeHasher } from "../src/adapters/hasher/node-hasher.ts";
import { utf8 } from "../src/shared/json.ts";
import { USAGE } from "./instant-model.ts";

/** The thread's own, so that a faster hash makes the floor faster too. */
const HASHER = new NodeHasher();

/**
 * The floor: the rows of a step as one would write them by hand, in as many transactions as a thread needs: the same
 * header fields, payloads of the same size, salt, digest and chain. No state, no rules, no projections.
 */
export class FloorObject extends DurableObject {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
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
      const payload = utf8(JSON.stringify(FLOOR_PAYLOADS[type]));
      const digest = HASHER.sha256(salt, payload);
      const header = JSON.stringify(
        floorHeader({ seq, type, step, digest, bytes: payload.byteLength, prev }),
      );
      prev = HASHER.sha256(utf8(header));
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
        argsText: '{"n":1000}',
        args: { n: 1_000 },
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
    args: { n: 1_000 },
    effect: "read",
    idempotencyKey: ID,
    mode: "execute",
    verdicts: VERDICTS,
    reservation: { costMicros: 0, tokens: 0 },
  },
  "tool.finished": {
    result: { status: "ok", code: null, output: "tick 1000", bytes: 9, handle: null },
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
