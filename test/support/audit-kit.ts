/**
 * AuditKit: logs whose heads are signed and kept in both stores, and exports of them, over the product's own parts in
 * plain Node.
 */
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { R2AnchorCopies } from "#adapters/anchors/r2-anchor-copies.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoCheck, WebCryptoSigner } from "#adapters/signing/web-crypto-signing.ts";
import { signAnchor } from "#audit/anchor.ts";
import { anchorsConsumer } from "#audit/anchoring.ts";
import type { ExportFault, ExportReport } from "#audit/export-verifier.ts";
import { ExportWriter } from "#audit/export-writer.ts";
import { parseJwk } from "#audit/key-set.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";
import type { Anchor } from "#ports/anchors.ts";
import type { ExportedLog } from "#ports/audit-export.ts";
import type { EventLog, LogHead } from "#ports/event-log.ts";
import type { PublicKey, Signer } from "#ports/signing.ts";
import { utf8, type Json } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import { newSigningKey } from "../../scripts/lib/signing-key.mjs";
import { ManualClock } from "./manual-clock.ts";
import { MemoryBucket } from "./memory-bucket.ts";
import { createNodeD1, type NodeD1 } from "./node-d1.ts";

const GENESIS: LogHead = { seq: 0, hash: "0".repeat(64) };
/** The kit takes logs of any catalogue, whose types it cannot know. */
const RUN_ENDS: ReadonlySet<never> = new Set([
  "run.completed",
  "run.failed",
  "run.cancelled",
] as never[]);

export interface TestKey {
  readonly jwk: Json;
  readonly key: PublicKey;
  readonly signer: Signer;
}

/** `now` in epoch ms: a key signs from the second it was made. */
export function makeKey(now: number): TestKey {
  const jwk = newSigningKey(now);
  const key = parseJwk(jwk, new NodeHasher());
  if (key === null) throw new Error("a new key is a key");
  return { jwk, key, signer: new WebCryptoSigner({ keyId: key.id, x: jwk.x, d: jwk.d }) };
}

export interface KitLog {
  readonly log: EventLog<never>;
  readonly tenant: string;
  /** Null for a log that is no thread's. */
  readonly agent: string | null;
  readonly thread: string | null;
}

export class AuditKit {
  readonly clock = new ManualClock();
  readonly hasher = new NodeHasher();
  readonly check = new WebCryptoCheck();
  readonly node: NodeD1 = createNodeD1();
  readonly anchors = new D1AnchorStore(this.node.d1);
  readonly bucket = new MemoryBucket();
  readonly copies = new R2AnchorCopies(this.bucket);
  readonly conflicts: Anchor[] = [];
  /** The second store is away. */
  failCopies = false;
  current: TestKey = makeKey(this.clock.now());
  retired: readonly PublicKey[] = [];

  get keys(): readonly PublicKey[] {
    return [this.current.key, ...this.retired];
  }

  /** Delivers the outbox to its end, as alarms do. */
  async anchor({ log, tenant, agent, thread }: KitLog, limit = 500): Promise<void> {
    const consumer = anchorsConsumer<never>(
      { logId: log.logId, tenant, agent, thread, after: RUN_ENDS },
      {
        signer: this.current.signer,
        anchors: this.anchors,
        copies: { put: (anchors) => this.#copy(anchors) },
        clock: this.clock,
        conflict: (anchor) => this.conflicts.push(anchor),
      },
    );
    while (await log.drain([consumer], limit));
  }

  async #copy(anchors: readonly Anchor[]): Promise<readonly Anchor[]> {
    if (this.failCopies) throw new Error("the second store is away");
    return this.copies.put(anchors);
  }

  /** Signed heads at these places, and no others. */
  async anchorAt({ log, tenant, agent, thread }: KitLog, seqs: readonly number[]): Promise<void> {
    const { logId } = log;
    const at = this.clock.now();
    const signed = seqs.map((seq) => {
      const hash = log.raw({ from: seq, to: seq })[0]?.hash ?? "";
      return signAnchor({ logId, tenant, agent, thread, seq, hash, at }, this.current.signer);
    });
    await this.anchors.put(await Promise.all(signed));
  }

  /** The text of an export; of a thread where one log is given, else of the tenant. */
  async export(
    logs: readonly KitLog[],
    signer: Signer | null = this.current.signer,
  ): Promise<string> {
    const { anchors, hasher, clock, keys } = this;
    const writer = new ExportWriter({
      anchors,
      hasher,
      clock,
      keys: signer === null ? [] : keys,
      signer,
    });
    const [first] = logs;
    if (first === undefined) throw new Error("nothing to export");
    const { tenant, agent, thread } = first;
    const scope =
      logs.length === 1 ? { tenant, agent, thread } : { tenant, agent: null, thread: null };
    let text = "";
    for await (const line of writer.lines(scope, exported(logs))) text += line;
    return text;
  }

  verify(
    text: string | Uint8Array,
    keys: readonly PublicKey[] | null = this.keys,
  ): Promise<Result<ExportReport, ExportFault>> {
    const { hasher, check } = this;
    return verifyAuditExport(pieces(text), { hasher, check, keys });
  }
}

async function* exported(logs: readonly KitLog[]): AsyncGenerator<ExportedLog> {
  for (const { log, agent, thread } of logs) {
    yield {
      agent,
      thread,
      bounds: async () => ({ logId: log.logId, base: GENESIS, head: log.head() }),
      page: async (after) => {
        const items = log.raw({ from: after + 1, limit: 7 });
        const last = items.at(-1)?.seq ?? after;
        return { items, next: last < log.head().seq ? last : null };
      },
    };
  }
}

/** In pieces that end anywhere. */
async function* pieces(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === "string" ? utf8(text) : text;
  for (let at = 0; at < bytes.byteLength; at += 1_009) yield bytes.subarray(at, at + 1_009);
}

/** The verdict as `scripts/verify_log.py` writes it. */
export function toLine(
  result: Result<ExportReport, ExportFault>,
  keys: "given" | "file" | "none",
): string {
  if (!result.ok) {
    const { logId, seq, reason, line, since } = result.error;
    return `bad log=${logId ?? "-"} seq=${seq} reason=${reason} line=${line} since=${since}`;
  }
  const { logs, events, erased, anchors, unanchored, signed } = result.value;
  return `ok logs=${logs} events=${events} erased=${erased} anchors=${anchors} unanchored=${unanchored} keys=${keys} signed=${signed ? "yes" : "no"}`;
}
