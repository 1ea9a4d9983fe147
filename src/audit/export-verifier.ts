/**
 * Verifies an audit export line by line, without the service and without holding the file (H5 to H9).
 *
 * Constant memory for each log; beside that only the ids of the logs. It stops at the first fault and names log, seq and
 * reason. `scripts/verify_log.py` is the same check in another language; a change here is a change there.
 */
import type { Anchor } from "#ports/anchors.ts";
import type { ExportScope } from "#ports/audit-export.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { PublicKey, SignatureCheck } from "#ports/signing.ts";
import { canonicalJson, type JsonObject } from "#shared/json.ts";
import { anchorMessage, findSignatureFault, type KeyRing, type SignatureFault } from "./anchor.ts";
import { EventLineReader, type EventLine } from "./event-line.ts";
import {
  endMessage,
  LineDigest,
  parseLine,
  type ExportEnd,
  type ExportLine,
  type LogExtent,
} from "./export-format.ts";
import { ChainWalk, findHeadFault, GENESIS_HASH, type ChainFault } from "./hash-chain.ts";
import { parseJwk, toJwk, toRing } from "./key-set.ts";

export type ExportFaultReason =
  | ChainFault
  | SignatureFault
  /** The first line is not that of an export. */
  | "manifest_invalid"
  /** Not the one spelling of a line, or a line out of its order. */
  | "line_invalid"
  | "key_invalid"
  /** A signed head says that there is a log which the file does not hold. */
  | "log_missing"
  | "log_repeated"
  /** The chain was rewritten: a signed head knew another hash at this place. */
  | "anchor_mismatch"
  /** A signed head of another log or another place. */
  | "anchor_misplaced"
  /** The file begins in the middle of a log, and no signed head says that it may. */
  | "base_unanchored"
  /** The file ends too early, or its counts, digest or signature are not those of its lines. */
  | "end_missing"
  | "end_mismatch"
  | "end_unsigned";

export interface ExportFault {
  readonly logId: string | null;
  /** First bad place of that log; 0 where no log is concerned. */
  readonly seq: number;
  readonly reason: ExportFaultReason;
  /** Counted from 1. */
  readonly line: number;
  /** Newest place before it that a signed head confirms: a rewritten chain is rewritten somewhere behind. */
  readonly since: number;
}
export interface ExportReport {
  readonly scope: ExportScope;
  readonly at: number;
  readonly logs: number;
  readonly events: number;
  readonly erased: number;
  readonly anchors: number;
  /** Events behind the newest signed head of their log: only the end's signature speaks for them. */
  readonly unanchored: number;
  readonly signed: boolean;
}

export interface Trust {
  readonly hasher: Hasher;
  readonly check: SignatureCheck;
  /** Null: the keys of the file itself, which show damage and not forgery. */
  readonly keys: readonly PublicKey[] | null;
}

type Verdict = ExportFault | null;
type Reason = ExportFaultReason | null;

interface OpenLog {
  readonly extent: LogExtent;
  readonly walk: ChainWalk;
  readonly index: Anchor | null;
  /** Newest seq with a signed head; of a log that begins in the middle, null until its base is confirmed. */
  anchored: number | null;
}

export class ExportVerifier {
  readonly #trust: Trust;
  readonly #fileKeys: PublicKey[] = [];
  #ring: KeyRing;
  #scope: { readonly at: number; readonly scope: ExportScope } | null = null;
  #phase: "keys" | "index" | "logs" | "done" = "keys";
  #open: OpenLog | null = null;
  #end: ExportEnd | null = null;
  readonly #expected = new Map<string, Anchor>();
  readonly #seen = new Set<string>();
  readonly #total = { logs: 0, events: 0, erased: 0, anchors: 0, unanchored: 0 };
  readonly #events = new EventLineReader();
  readonly #digest: LineDigest;
  #line = 0;

  constructor(trust: Trust) {
    this.#trust = trust;
    this.#digest = new LineDigest(trust.hasher);
    this.#ring = toRing(trust.keys ?? []);
  }

  /** Null when the line is sound; only what is signed takes a promise. */
  take(bytes: Uint8Array): Verdict | Promise<Verdict> {
    this.#line += 1;
    const line = parseLine(bytes, this.#events);
    if (this.#scope === null && line?.type !== "head") return this.#fault("manifest_invalid");
    if (line === null || this.#phase === "done") return this.#fault("line_invalid");
    if (line.type === "end") return this.#takeEnd(line.end);
    this.#digest.take(bytes);
    switch (line.type) {
      case "event":
        return this.#takeEvent(line.event);
      case "anchor":
        return this.#takeAnchor(line.anchor);
      case "log":
        return this.#takeLog(line.log);
      case "index":
        return this.#takeIndex(line.anchor);
      case "key":
        return this.#takeKey(line.jwk);
      case "head":
        return this.#takeHead(line);
    }
  }

  /** After the last line; of no line at all, the first is missing. */
  finish(): { readonly fault: ExportFault } | { readonly report: ExportReport } {
    const fault = this.#line === 0 ? this.broken() : this.#closeLog();
    if (fault !== null) return { fault };
    if (this.#end === null || this.#scope === null) return { fault: this.#fault("end_missing") };
    return { report: { ...this.#scope, ...this.#total, signed: this.#end.keyId !== null } };
  }

  /** Of a line that cannot be read as one of a file. */
  broken(): ExportFault {
    this.#line += 1;
    return this.#fault(this.#scope === null ? "manifest_invalid" : "line_invalid");
  }

  #takeHead({ at, scope }: Extract<ExportLine, { readonly type: "head" }>): Verdict {
    if (this.#scope !== null) return this.#fault("line_invalid");
    this.#scope = { at, scope };
    return null;
  }

  #takeKey(jwk: JsonObject): Verdict {
    if (this.#phase !== "keys") return this.#fault("line_invalid");
    const key = parseJwk(jwk, this.#trust.hasher);
    const isOne = key !== null && canonicalJson(toJwk(key)) === canonicalJson(jwk);
    if (!isOne || this.#fileKeys.some(({ id }) => id === key.id)) return this.#fault("key_invalid");
    this.#fileKeys.push(key);
    if (this.#trust.keys === null) this.#ring = toRing(this.#fileKeys);
    return null;
  }

  async #takeIndex(anchor: Anchor): Promise<Verdict> {
    if (this.#phase === "logs") return this.#fault("line_invalid");
    this.#phase = "index";
    const at = { logId: anchor.logId, seq: anchor.seq };
    if (!this.#isOfScope(anchor)) return this.#fault("anchor_misplaced", at);
    if (this.#expected.has(anchor.logId)) return this.#fault("log_repeated", at);
    const reason = await this.#signatureFault(anchor);
    if (reason !== null) return this.#fault(reason, at);
    this.#expected.set(anchor.logId, anchor);
    return null;
  }

  #takeLog(extent: LogExtent): Verdict {
    this.#phase = "logs";
    const closed = this.#closeLog();
    if (closed !== null) return closed;
    const { logId, base } = extent;
    const at = { logId, seq: 0 };
    if (this.#seen.has(logId)) return this.#fault("log_repeated", at);
    if (!this.#isOfScope(extent)) return this.#fault("log_mismatch", at);
    const isWhole = base.seq === 0;
    if (isWhole && base.hash !== GENESIS_HASH) return this.#fault("base_unanchored", at);
    this.#seen.add(logId);
    const walk = new ChainWalk(this.#trust.hasher, { base, logId });
    const index = this.#expected.get(logId) ?? null;
    this.#expected.delete(logId);
    this.#open = { extent, walk, index, anchored: isWhole ? 0 : null };
    this.#total.logs += 1;
    return index?.seq === base.seq && index.hash !== base.hash
      ? this.#fault("anchor_mismatch", { logId, seq: base.seq })
      : null;
  }

  #takeEvent(event: EventLine): Verdict {
    const open = this.#open;
    if (open === null) return this.#fault("line_invalid");
    const { extent, walk, index } = open;
    const at = { logId: extent.logId, seq: walk.last.seq + 1 };
    if (open.anchored === null)
      return this.#fault("base_unanchored", { ...at, seq: walk.last.seq });
    const reason: Reason = walk.take(event, { owner: extent, headerBytes: event.headerBytes });
    if (reason !== null) return this.#fault(reason, at);
    return index?.seq === event.seq && index.hash !== event.hash
      ? this.#fault("anchor_mismatch", at)
      : null;
  }

  async #takeAnchor(anchor: Anchor): Promise<Verdict> {
    const open = this.#open;
    if (open === null) return this.#fault("line_invalid");
    const { extent, walk, index } = open;
    const { seq, hash } = walk.last;
    const at = { logId: extent.logId, seq: anchor.seq };
    const isOfLog = anchor.logId === extent.logId && isSameOwner(anchor, extent);
    const isNext = anchor.seq >= seq && (open.anchored === null || anchor.seq > open.anchored);
    if (!isOfLog || !isNext) return this.#fault("anchor_misplaced", at);
    const isKnown = index !== null && isSame(anchor, index);
    const reason = isKnown ? null : await this.#signatureFault(anchor);
    if (reason !== null) return this.#fault(reason, at);
    if (anchor.seq > seq) return this.#fault("head_mismatch", { ...at, seq: seq + 1 });
    if (anchor.hash !== hash) return this.#fault("anchor_mismatch", at);
    open.anchored = seq;
    this.#total.anchors += 1;
    return null;
  }

  #closeLog(): Verdict {
    const open = this.#open;
    if (open === null) return null;
    const { extent, walk, index } = open;
    const { logId } = extent;
    if (open.anchored === null)
      return this.#fault("base_unanchored", { logId, seq: walk.last.seq });
    const fault = findHeadFault(walk.last, extent.head);
    if (fault !== null) return this.#fault(fault.reason, { logId, seq: fault.seq });
    if (index !== null && index.seq > walk.last.seq)
      return this.#fault("head_mismatch", { logId, seq: walk.last.seq + 1 });
    this.#open = null;
    this.#total.events += walk.events;
    this.#total.erased += walk.erased;
    this.#total.unanchored += walk.last.seq - open.anchored;
    return null;
  }

  async #takeEnd(end: ExportEnd): Promise<Verdict> {
    const closed = this.#closeLog();
    if (closed !== null) return closed;
    this.#phase = "done";
    for (const logId of this.#expected.keys()) return this.#fault("log_missing", { logId, seq: 1 });
    const { logs, events, anchors } = this.#total;
    const isTold = end.logs === logs && end.events === events && end.anchors === anchors;
    if (!isTold || end.digest !== this.#digest.value) return this.#fault("end_mismatch");
    this.#end = end;
    const { at, keyId, signature } = end;
    if (keyId === null || signature === null)
      return this.#trust.keys === null && this.#fileKeys.length === 0
        ? null
        : this.#fault("end_unsigned");
    const { check } = this.#trust;
    const trust = { keys: this.#ring, check };
    const reason = await findSignatureFault({ at, keyId, signature }, endMessage(end), trust);
    return reason === null ? null : this.#fault(reason);
  }

  #signatureFault(anchor: Anchor): Promise<SignatureFault | null> {
    const { check } = this.#trust;
    return findSignatureFault(anchor, anchorMessage(anchor), { keys: this.#ring, check });
  }

  #isOfScope(owned: Pick<Anchor, "tenant" | "agent" | "thread">): boolean {
    const scope = this.#scope?.scope;
    if (scope === undefined || owned.tenant !== scope.tenant) return false;
    return scope.thread === null || isSameOwner(owned, scope);
  }

  #fault(
    reason: ExportFaultReason,
    at: { readonly logId: string | null; readonly seq: number } = this.#here(),
  ): ExportFault {
    return { ...at, reason, line: this.#line, since: this.#open?.anchored ?? 0 };
  }

  #here(): { readonly logId: string | null; readonly seq: number } {
    const open = this.#open;
    return open === null
      ? { logId: null, seq: 0 }
      : { logId: open.extent.logId, seq: open.walk.last.seq + 1 };
  }
}

function isSameOwner(
  left: Pick<Anchor, "tenant" | "agent" | "thread">,
  right: Pick<Anchor, "tenant" | "agent" | "thread">,
): boolean {
  return left.tenant === right.tenant && left.agent === right.agent && left.thread === right.thread;
}

function isSame(left: Anchor, right: Anchor): boolean {
  return canonicalJson({ ...left }) === canonicalJson({ ...right });
}
