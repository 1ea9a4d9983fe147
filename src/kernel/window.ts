/**
 * The window: which events the next prompt holds, as references with their weight.
 *
 * Trimming drops whole units from the front and never parts a call from its result (K8). It goes below three quarters
 * of the budget at once, so that the prefix that providers cache stays put for many steps. What may not be dropped is
 * cut. Everything here is deterministic, and bounded by `MAX_ENTRIES` (K13).
 */
import type { PromptRef, PromptRefs } from "./events.ts";
import type { LastRequest, WindowEntry } from "./state.ts";
import { MESSAGE_OVERHEAD } from "./tokens.ts";

export const MAX_ENTRIES = 300;
const TRIM_TO = 0.75;
/** Of entries half go at once: each trim chains all that stay again (K11), so it had better be seldom. */
const TRIM_ENTRIES_TO = 0.5;
/** No single text takes more of the budget than this: it is cut before anything else is dropped for it. */
const MAX_SHARE = 0.5;
const MIN_CUT_TOKENS = 32;
/** A full listing at least this often bounds how far back references must be followed (K10). */
export const FULL_EVERY = 32;

export interface TrimBounds {
  readonly budget: number;
  /** Seq of the plan that is shown: never dropped (K19). */
  readonly planSeq: number | null;
}

export function windowTokens(entries: readonly WindowEntry[]): number {
  let total = 0;
  for (const entry of entries) total += entry.tokens + MESSAGE_OVERHEAD;
  return total;
}

/** The same array when nothing had to go. */
export function trimWindow(
  window: readonly WindowEntry[],
  bounds: TrimBounds,
): readonly WindowEntry[] {
  const entries = fromFirstTurn(window);
  if (entries.length <= MAX_ENTRIES && windowTokens(entries) <= bounds.budget) return entries;
  const capped = entries.map((entry) => cutEntry(entry, Math.floor(bounds.budget * MAX_SHARE)));
  if (capped.length <= MAX_ENTRIES && windowTokens(capped) <= bounds.budget) return capped;
  const kept = dropOldest(capped, bounds);
  return cutLargest(kept, bounds.budget);
}

/** A prompt begins with a user's turn. What stood there may have moved away, as a plan does that was made anew. */
function fromFirstTurn(entries: readonly WindowEntry[]): readonly WindowEntry[] {
  const first = entries.findIndex(opensTurn);
  return first <= 0 ? entries : entries.slice(first);
}

function opensTurn({ kind }: WindowEntry): boolean {
  return kind === "user" || kind === "context";
}

function dropOldest(entries: readonly WindowEntry[], bounds: TrimBounds): readonly WindowEntry[] {
  const target = Math.floor(bounds.budget * TRIM_TO);
  const maxEntries = Math.floor(MAX_ENTRIES * TRIM_ENTRIES_TO);
  const kept = unitsToKeep(entries, bounds.planSeq);
  const dropped = new Set<number>();
  let tokens = windowTokens(entries);
  let count = entries.length;
  let hasHead = false;
  for (const entry of entries) {
    const isHead = opensTurn(entry);
    if (kept.has(entry.unit)) {
      hasHead ||= isHead;
      continue;
    }
    const fits = tokens <= target && count <= maxEntries;
    // All after the first unit that stays may stay. A prompt begins with a user's turn, so a leading step goes too.
    if (fits && !dropped.has(entry.unit) && (hasHead || isHead)) break;
    dropped.add(entry.unit);
    tokens -= entry.tokens + MESSAGE_OVERHEAD;
    count -= 1;
  }
  return entries.filter((entry) => !dropped.has(entry.unit));
}

/** The newest user message, the newest entry, the plan, and the step that answers that user message. */
function unitsToKeep(entries: readonly WindowEntry[], planSeq: number | null): ReadonlySet<number> {
  const newestUser = entries.findLastIndex((entry) => entry.kind === "user");
  const newestStep = entries.findLastIndex((entry) => entry.kind === "assistant");
  const indexes = [newestUser, entries.length - 1, newestStep > newestUser ? newestStep : -1];
  const units = indexes.flatMap((index) => entries[index]?.unit ?? []);
  return new Set(planSeq === null ? units : [...units, planSeq]);
}

/** Halves the largest texts until what must stay fits, or none is left that is worth cutting. */
function cutLargest(entries: readonly WindowEntry[], budget: number): readonly WindowEntry[] {
  const cut = [...entries];
  let over = windowTokens(cut) - budget;
  while (over > 0) {
    let largest = -1;
    let most = MIN_CUT_TOKENS;
    for (const [index, entry] of cut.entries()) {
      if (entry.kind === "assistant" || entry.tokens <= most) continue;
      largest = index;
      most = entry.tokens;
    }
    const entry = cut[largest];
    if (entry === undefined) break;
    const smaller = cutEntry(
      entry,
      Math.max(MIN_CUT_TOKENS, entry.tokens - over, Math.floor(entry.tokens / 2)),
    );
    cut[largest] = smaller;
    over -= entry.tokens - smaller.tokens;
  }
  return cut;
}

/** An answer is never cut: half a call is no call. */
function cutEntry(entry: WindowEntry, tokens: number): WindowEntry {
  if (entry.kind === "assistant" || tokens >= entry.tokens) return entry;
  return withCut(entry, Math.max(1, Math.floor((entry.chars * tokens) / entry.tokens)));
}

/** The entry as a recorded reference shows it. Tokens scale with what is kept. */
export function withCut(entry: WindowEntry, cut: number): WindowEntry {
  if (cut === 0 || cut >= entry.chars) return entry;
  return {
    ...entry,
    ref: [entry.ref[0], entry.ref[1], cut],
    tokens: Math.max(1, Math.ceil((entry.tokens * cut) / entry.chars)),
    chars: cut,
  };
}

export function isSameRef(a: PromptRef | undefined, b: PromptRef | undefined): boolean {
  // Within one wake a reference is one object, so hundreds of them are compared at a glance.
  if (a === b) return a !== undefined;
  return a !== undefined && b !== undefined && a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
}

/** Refs as a change of the last request's, or in full when that is due or nothing simpler fits (K10). */
export function encodeRefs(window: readonly PromptRef[], last: LastRequest | null): PromptRefs {
  const full: PromptRefs = { base: null, drop: 0, add: window };
  if (last === null || last.sinceFull + 1 >= FULL_EVERY) return full;
  const head = window[0];
  const drop = head === undefined ? -1 : last.refs.findIndex((ref) => isSameRef(ref, head));
  if (drop < 0) return full;
  const kept = last.refs.length - drop;
  if (kept > window.length) return full;
  for (let i = 0; i < kept; i += 1) {
    if (!isSameRef(window[i], last.refs[drop + i])) return full;
  }
  return { base: last.seq, drop, add: window.slice(kept) };
}

/** The whole list; null when `base` is not the given request. */
export function resolveRefs(
  refs: PromptRefs,
  base: Pick<LastRequest, "seq" | "refs"> | null,
): readonly PromptRef[] | null {
  if (refs.base === null) return refs.add;
  if (base === null || base.seq !== refs.base || refs.drop > base.refs.length) return null;
  const kept = refs.drop === 0 ? base.refs : base.refs.slice(refs.drop);
  return kept.concat(refs.add);
}

/** The entries that `refs` name, as cut by them, in their order; null when one is not among the candidates. */
export function selectEntries(
  candidates: readonly WindowEntry[],
  refs: readonly PromptRef[],
): readonly WindowEntry[] | null {
  if (
    candidates.length === refs.length &&
    refs.every((ref, i) => isSameRef(ref, candidates[i]?.ref))
  )
    return candidates;
  const bySeq = new Map(candidates.map((entry) => [entry.ref[0], entry]));
  const selected: WindowEntry[] = [];
  for (const ref of refs) {
    const entry = bySeq.get(ref[0]);
    if (entry === undefined) return null;
    selected.push(withCut(entry, ref[2]));
  }
  return selected;
}
