/**
 * Retention: prunes the history of one thread by age and number of events (H40 to H42), as its tenant says, or its agent (H44).
 *
 * Only at rest, only up to a signed head, a bounded part at a time. What is outside the object goes first, so that a
 * process that dies in between finds the same events again.
 */
import { firstNeeded } from "#kernel/retention.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import type { Retention } from "#ports/agent-definition.ts";
import type { RetentionPolicies } from "#ports/retention-policies.ts";
import type { ThreadHost } from "./thread-host.ts";

/** Folded and deleted in one transaction. */
const MAX_PRUNED = 5_000;
/** Less is not worth a transaction. */
const MIN_PRUNED = 50;
const SLICE = 20;
const DAY_MS = 86_400_000;

/** Null where everything is kept, or where there is too little to ask. */
export async function findRetention(
  { log, address, definition }: ThreadHost,
  policies: Pick<RetentionPolicies, "find">,
): Promise<Retention | null> {
  if (log.head().seq - log.base().seq < MIN_PRUNED) return null;
  const policy = await policies.find(address.tenant, address.agent);
  if (policy === null) return definition?.retention ?? null;
  const { maxAgeDays, maxEvents } = policy;
  return { maxAgeMs: maxAgeDays === null ? null : maxAgeDays * DAY_MS, maxEvents };
}

/** True when there may be more to prune. */
export async function applyRetention(host: ThreadHost, retention: Retention): Promise<boolean> {
  const base = host.log.base().seq;
  const wanted = Math.min(findWanted(host, retention), base + MAX_PRUNED);
  if (wanted - base < MIN_PRUNED) return false;
  const anchor = await host.audit.anchors.newest({
    tenant: host.address.tenant,
    logId: host.log.logId,
    atMost: wanted,
  });
  if (anchor === null || anchor.seq <= base || !isQuiet(host, anchor.seq)) return false;
  const [row] = host.log.raw({ from: anchor.seq, to: anchor.seq });
  // A head that was signed with another hash is the auditor's business; a log never begins there.
  if (row === undefined || row.hash !== anchor.hash) return false;
  await forgetOutside(host, base, anchor.seq);
  // The thread may have gone on meanwhile.
  if (!isAtRest(host) || anchor.seq >= findFloor(host)) return true;
  host.prune(anchor.seq);
  return anchor.seq - base >= MIN_PRUNED;
}

export function isAtRest({ runtime }: ThreadHost): boolean {
  const { run, queue, erasure } = runtime.state;
  return run === null && queue.length === 0 && erasure === null;
}

function findWanted(host: ThreadHost, { maxAgeMs, maxEvents }: Retention): number {
  const head = host.log.head().seq;
  const bySize = maxEvents === null ? 0 : head - maxEvents;
  const byAge = maxAgeMs === null ? 0 : lastOlderThan(host, host.now - maxAgeMs);
  return Math.min(Math.max(bySize, byAge), findFloor(host) - 1);
}

/** The first seq that has to stay, whatever its age. */
function findFloor({ log, runtime }: ThreadHost): number {
  const needed = firstNeeded(runtime.state, (seq) => log.get(seq));
  return Math.min(needed, log.prunable() + 1, log.head().seq);
}

/** By halves: times of a log rise but for small steps of its writers' clocks. */
function lastOlderThan({ log }: ThreadHost, time: number): number {
  let [low, high] = [log.base().seq, log.head().seq];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const event = log.get(middle);
    if (event !== null && event.header.at < time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** No run lies across the new base: its counters are kept as they are, and could not be told again. */
function isQuiet({ storage }: ThreadHost, seq: number): boolean {
  const [row] = storage.database.exec(
    "SELECT 1 FROM runs WHERE start_seq <= ?1 AND (end_seq IS NULL OR end_seq > ?1) LIMIT 1",
    seq,
  );
  return row === undefined;
}

async function forgetOutside(host: ThreadHost, base: number, upTo: number): Promise<void> {
  for (const events of slices(host, base, upTo))
    await host.forgetArchived(events.map(withoutLive(host)));
}

/** Content that a path still leads to stays, wherever the event that wrote it lies. */
function withoutLive(host: ThreadHost): (event: ThreadEvent) => ThreadEvent {
  return (event) =>
    event.type === "file.written" &&
    event.payload !== null &&
    host.holdsContent(event.payload.digest)
      ? { ...event, payload: null }
      : event;
}

/** In the transaction of the pruning: what the object made of these events, less what is still shown. */
export function forgetPruned(host: ThreadHost, upTo: number): void {
  const { database, blobs } = host.storage;
  for (const events of slices(host, host.log.base().seq, upTo)) {
    for (const { type, payload } of events) {
      if (type !== "file.written" || payload === null) continue;
      if (!host.holdsContent(payload.digest)) blobs.delete(payload.digest);
    }
  }
  database.exec("DELETE FROM approvals WHERE seq <= ?", upTo);
  database.exec("DELETE FROM commands WHERE json_extract(receipt, '$.seq') <= ?", upTo);
}

function* slices(
  { log }: ThreadHost,
  base: number,
  upTo: number,
): Generator<readonly ThreadEvent[], void> {
  for (let from = base + 1; from <= upTo; from += SLICE)
    yield log.read({ from, to: Math.min(upTo, from + SLICE - 1), limit: SLICE });
}
