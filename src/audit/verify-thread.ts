/**
 * Verifies a live log against itself and against the signed heads outside its object, a bounded part at a time (H10).
 *
 * What lies beyond the head is asked first: a signed head is written after its event is durable, so one that is newer than
 * the log means that the log has lost its tail, however much is appended meanwhile.
 */
import type { Anchor, AnchorIndex, AnchorStore } from "#ports/anchors.ts";
import type { AnchorsView, VerificationFault, VerificationView } from "#ports/audit-views.ts";
import type { EventLog, LogHead, RawEvent } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { PublicKey, SignatureCheck } from "#ports/signing.ts";
import { anchorMessage, findSignatureFault, type KeyRing } from "./anchor.ts";
import { ChainWalk, type ChainFault, type LogOwner } from "./hash-chain.ts";
import { toRing } from "./key-set.ts";

export interface ThreadAudit {
  readonly anchors: AnchorStore & AnchorIndex;
  readonly copies: Pick<AnchorStore, "list">;
  readonly check: SignatureCheck;
  readonly keys: readonly PublicKey[];
  readonly signing: boolean;
}
type VerifiableLog = Pick<EventLog<never>, "logId" | "head" | "raw">;

export interface VerifiedThread {
  readonly log: VerifiableLog;
  /** The event before the first that the log still has. */
  readonly base: LogHead;
  readonly owner: LogOwner & { readonly agent: string; readonly thread: string };
}

const MAX_EVENTS = 5_000;
const MAX_BYTES = 16 * 1024 * 1024;
const SLICE = 50;
const ANCHOR_PAGE = 1_000;

export async function verifyThread(
  { log, base, owner }: VerifiedThread,
  audit: ThreadAudit & { readonly hasher: Hasher },
  after: number,
): Promise<VerificationView> {
  const place = { tenant: owner.tenant, logId: log.logId };
  const outside = await readOutside(audit, { ...place, seq: log.head().seq, owner });
  const from = Math.max(after, base.seq);
  const walked = walk({ log, base, owner }, audit.hasher, from);
  const range = { ...place, from: Math.max(1, from), to: walked.last.seq, limit: ANCHOR_PAGE };
  const [stored, copied] = [
    await listAll(audit.anchors, range),
    await listAll(audit.copies, range),
  ];
  const heads = await checkAnchors([...stored, ...copied], walked, audit);
  const head = log.head();
  const isEnd = walked.last.seq >= head.seq;
  const fault = firstOf([
    walked.fault,
    heads.fault,
    isEnd ? findBeyond(outside, { logId: log.logId, head, since: heads.since }) : null,
  ]);
  return {
    logId: log.logId,
    ok: fault === null,
    base,
    head,
    from: from + 1,
    to: walked.last.seq,
    events: walked.events,
    erased: walked.erased,
    fault,
    anchors: toView(heads, { stored, copied }, audit.signing),
    next: isEnd || fault !== null ? null : walked.last.seq,
  };
}

interface Walked {
  readonly base: LogHead;
  readonly logId: string;
  readonly last: LogHead;
  readonly events: number;
  readonly erased: number;
  readonly fault: VerificationFault | null;
  hashAt(seq: number): string | null;
}

/** Begins behind `from`, whose own row gives the hash that the next one must be built on. */
function walk({ log, base, owner }: VerifiedThread, hasher: Hasher, from: number): Walked {
  const { logId } = log;
  const start = from === base.seq ? base : headOf(log.raw({ from, to: from, limit: 1 })[0], from);
  const chain = new ChainWalk(hasher, { base: start, logId });
  const hashes = new Map([[start.seq, start.hash]]);
  const to = Math.min(log.head().seq, from + MAX_EVENTS);
  let bytes = 0;
  const report = (reason: ChainFault | null): Walked => {
    const { last, events, erased } = chain;
    const fault = reason === null ? null : { logId, seq: last.seq + 1, reason, since: start.seq };
    return {
      base: start,
      logId,
      last,
      events,
      erased,
      fault,
      hashAt: (seq) => hashes.get(seq) ?? null,
    };
  };
  while (chain.last.seq < to && bytes < MAX_BYTES) {
    const slice = log.raw({ from: chain.last.seq + 1, to, limit: SLICE });
    if (slice.length === 0) return report("seq_unexpected");
    for (const event of slice) {
      const reason = chain.take(event, { owner });
      if (reason !== null) return report(reason);
      hashes.set(event.seq, event.hash);
      bytes += event.header.length + (event.payload?.byteLength ?? 0);
    }
  }
  return report(null);
}

function headOf(event: RawEvent | undefined, seq: number): LogHead {
  return { seq, hash: event?.hash ?? "" };
}

interface CheckedHeads {
  readonly verified: ReadonlyMap<number, Anchor>;
  readonly fault: VerificationFault | null;
  /** Newest seq that a signed head confirms. */
  readonly since: number;
}

async function checkAnchors(
  anchors: readonly Anchor[],
  walked: Walked,
  { keys, check }: ThreadAudit,
): Promise<CheckedHeads> {
  const ring = toRing(keys);
  const verified = new Map<number, Anchor>();
  let since = walked.base.seq;
  for (const anchor of anchors.toSorted((left, right) => left.seq - right.seq)) {
    const reason = await faultOf(anchor, walked, { keys: ring, check });
    const { logId } = walked;
    if (reason !== null)
      return { verified, since, fault: { logId, seq: anchor.seq, reason, since } };
    verified.set(anchor.seq, anchor);
    since = anchor.seq;
  }
  return { verified, since, fault: null };
}

async function faultOf(
  anchor: Anchor,
  { logId, hashAt }: Walked,
  trust: { readonly keys: KeyRing; readonly check: SignatureCheck },
): Promise<string | null> {
  if (anchor.logId !== logId) return "anchor_misplaced";
  const fault = await findSignatureFault(anchor, anchorMessage(anchor), trust);
  if (fault !== null) return fault;
  return hashAt(anchor.seq) === anchor.hash ? null : "anchor_mismatch";
}

interface Outside {
  /** Signed heads that are newer than the log was when they were asked for. */
  readonly beyond: readonly Anchor[];
  /** Newest signed head of other logs that were this thread's: its object was lost and made anew. */
  readonly lost: readonly Anchor[];
}

async function readOutside(
  { anchors, copies }: ThreadAudit,
  log: {
    readonly tenant: string;
    readonly logId: string;
    readonly seq: number;
    readonly owner: VerifiedThread["owner"];
  },
): Promise<Outside> {
  const { tenant, logId, seq, owner } = log;
  const range = { tenant, logId, from: seq + 1, to: Number.MAX_SAFE_INTEGER, limit: 1 };
  const beyond = [...(await anchors.list(range)), ...(await copies.list(range))];
  const lost = (await anchors.ofThread(owner)).filter((anchor) => anchor.logId !== logId);
  return { beyond, lost };
}

function findBeyond(
  { beyond, lost }: Outside,
  {
    logId,
    head,
    since,
  }: { readonly logId: string; readonly head: LogHead; readonly since: number },
): VerificationFault | null {
  const [first] = lost;
  if (first !== undefined) return { logId: first.logId, seq: 1, reason: "log_missing", since: 0 };
  return beyond.some(({ seq }) => seq > head.seq)
    ? { logId, seq: head.seq + 1, reason: "head_mismatch", since }
    : null;
}

async function listAll(
  store: Pick<AnchorStore, "list">,
  range: Parameters<AnchorStore["list"]>[0],
): Promise<readonly Anchor[]> {
  const found: Anchor[] = [];
  let { from } = range;
  while (from <= range.to) {
    const page = await store.list({ ...range, from });
    found.push(...page);
    if (page.length < range.limit) break;
    from = (page.at(-1)?.seq ?? range.to) + 1;
  }
  return found;
}

/** The lowest seq is the first bad event. */
function firstOf(faults: readonly (VerificationFault | null)[]): VerificationFault | null {
  return faults.reduce((first, fault) => {
    if (first === null || fault === null) return first ?? fault;
    return fault.seq < first.seq ? fault : first;
  }, null);
}

function toView(
  { verified }: CheckedHeads,
  { stored, copied }: { readonly stored: readonly Anchor[]; readonly copied: readonly Anchor[] },
  signing: boolean,
): AnchorsView {
  const seqs = [stored, copied].map((anchors) => new Set(anchors.map(({ seq }) => seq)));
  const newest = [...verified.values()].at(-1) ?? null;
  return {
    verified: verified.size,
    inOneStore: [...verified.keys()].filter((seq) => !seqs.every((set) => set.has(seq))).length,
    newest:
      newest === null
        ? null
        : { seq: newest.seq, hash: newest.hash, at: newest.at, keyId: newest.keyId },
    signing,
  };
}
