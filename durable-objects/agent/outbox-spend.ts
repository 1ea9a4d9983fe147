/**
 * The outbox consumer `spend`, and the same sums computed again from the log (B28, B29).
 *
 * The outbox delivers at least once. What was counted already is known by the cursor that moves with the rows, so a
 * delivery that comes again, or from two processes at once, adds nothing.
 */
import type { SpendCheck } from "#ports/spend.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { rollUp, SPEND_EVENTS, toSpendId, type SpendEntry } from "#kernel/spend.ts";
import type { EventLog, OutboxConsumer } from "#ports/event-log.ts";
import type { SpendPlace, SpendStore } from "#ports/spend.ts";
import { AppError } from "#shared/errors.ts";
import { canonicalJson } from "#shared/json.ts";
import { inTurn } from "./in-turn.ts";

const SLICE = 500;

export function spendConsumer(
  place: SpendPlace,
  logId: string,
  store: SpendStore,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "spend",
    required: true,
    types: SPEND_EVENTS,
    async deliver(events) {
      await inTurn("spend", async () => {
        const from = await store.counted(place.tenant, logId);
        const fresh = events.filter(({ header }) => header.seq > from);
        const to = fresh.at(-1)?.header.seq ?? from;
        if (to === from) return true;
        return (await store.add({ place, logId, from, to, entries: rollUp(fresh) })) || null;
      });
    },
  };
}

/**
 * Compares with the log up to where it is counted, and with `replace` puts the log's sums in place of what is stored.
 * Events that are appended meanwhile are behind the cursor, and counted by the outbox.
 */
export async function checkSpend(
  log: Pick<EventLog<ThreadEvents>, "base" | "logId" | "read">,
  source: { readonly place: SpendPlace; readonly store: SpendStore; readonly replace: boolean },
): Promise<SpendCheck> {
  const { place, store, replace } = source;
  const { logId } = log;
  const base = log.base().seq;
  if (base > 0)
    throw new AppError(
      "conflict",
      `the log was pruned up to event ${base}: what those cost stands in the rollup only, and cannot be computed again`,
      { detail: { base } },
    );
  return inTurn("spend", async () => {
    const to = await store.counted(place.tenant, logId);
    const stored = await store.entries(place);
    if ((await store.counted(place.tenant, logId)) !== to) return null;
    const entries = rollUp(readAll(log, to));
    const differing = compare(stored, entries);
    const isReplaced = replace && differing > 0;
    if (isReplaced && !(await store.replace({ place, logId, from: to, to, entries }))) return null;
    const micros = entries.reduce((sum, entry) => sum + entry.micros, 0);
    return { countedTo: to, micros, rows: entries.length, differing, replaced: isReplaced };
  });
}

function* readAll(log: Pick<EventLog<ThreadEvents>, "read">, to: number) {
  for (let from = 1; from <= to;) {
    const events = log.read({ from, to, limit: SLICE });
    if (events.length === 0) return;
    yield* events;
    from = (events.at(-1)?.header.seq ?? to) + 1;
  }
}

/** Rows that differ, or stand on one side only. A row of nothing but zeros is no row. */
function compare(stored: readonly SpendEntry[], computed: readonly SpendEntry[]): number {
  const [a, b] = [toRows(stored), toRows(computed)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((id) => a.get(id) !== b.get(id)).length;
}

function toRows(entries: readonly SpendEntry[]): ReadonlyMap<string, string> {
  return new Map(
    entries.filter(isSomething).map((entry) => [toSpendId(entry), canonicalJson({ ...entry })]),
  );
}

function isSomething({ day: _d, route: _r, tool: _t, kind: _k, ...counts }: SpendEntry): boolean {
  return Object.values(counts).some((count) => count !== 0);
}
