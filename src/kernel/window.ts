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

export const MAX_ENTRIES = 400;
const TRIM_TO = 0.75;
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
export function trimWindow(entries: readonly WindowEntry[], bounds: TrimBounds): readonly WindowEntry[] {
  if (entries.length <= MAX_ENTRIES && windowTokens(entries) <= bounds.budget) return entries;
  const capped = cutTo(entries, (entry) => Math.floor(bounds.budget * MAX_SHARE) - entry.tokens, Infinity);
  if (capped.length <= MAX_ENTRIES && windowTokens(capped) <= bounds.budget) return capped;
  const kept = dropOldest(capped, bounds);
  const over = windowTokens(kept) - bounds.budget;
  return over > 0 ? cutLargest(kept, bounds.budget) : kept;
}

function dropOldest(entries: readonly WindowEntry[], bounds: TrimBounds): readonly WindowEntry[] {
  const target = Math.floor(bounds.budget * TRIM_TO);
  const maxEntries = Math.floor(MAX_ENTRIES * TRIM_TO);
  const newestUser = entries.findLastIndex((entry) => entry.kind === "user");
  const lastUnit = entries.at(-1)?.unit;
  const isKept = (entry: WindowEntry, index: number): boolean =>
    index === newestUser || entry.unit === lastUnit || isStepAtEnd(entry) || entry.ref[0] === bounds.planSeq;
  const liveStep = entries.findLast((entry) => entry.kind === "assistant");
  function isStepAtEnd(entry: WindowEntry): boolean {
    return liveStep !== undefined && entry.unit === liveStep.unit && entry.ref[0] > (entries[newestUser]?.ref[0] ?? 0);
  }
  let tokens = windowTokens(entries);
  let count = entries.length;
  const dropped = new Set<number>();
  let headIsValid = false;
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i];
    if (entry === undefined) break;
    if (dropped.has(entry.unit)) {
      tokens -= entry.tokens + MESSAGE_OVERHEAD;
      count -= 1;
      continue;
    }
    if (isKept(entry, i)) {
      headIsValid ||= entry.kind === "user" || entry.kind === "context";
      continue;
    }
    const fits = tokens <= target && count <= maxEntries;
    // Once a unit stays, so does all after it; a prompt begins with a user's turn, so a leading step goes too.
    if (fits && (headIsValid || entry.kind === "user" || entry.kind === "context")) break;
    dropped.add(entry.unit);
    tokens -= entry.tokens + MESSAGE_OVERHEAD;
    count -= 1;
  }
  return entries.filter((entry) => !dropped.has(entry.unit));
}

function cutLargest(entries: readonly WindowEntry[], budget: number): readonly WindowEntry[] {
  let current = entries;
  for (let round = 0; round < entries.length; round += 1) {
    const over = windowTokens(current) - budget;
    if (over <= 0) return current;
    let largest: WindowEntry | undefined;
    for (const entry of current) {
      if (entry.kind !== "assistant" && entry.tokens > (largest?.tokens ?? MIN_CUT_TOKENS)) largest = entry;
    }
    if (largest === undefined) return current;
    const target = largest;
    current = current.map((entry) =>
      entry === target ? cutEntry(entry, Math.max(MIN_CUT_TOKENS, Math.min(entry.tokens - over, Math.ceil(entry.tokens / 2)))) : entry,
    );
  }
  return current;
}

/** Cuts each entry whose `room` is negative, down to what it has. */
function cutTo(entries: readonly WindowEntry[], room: (entry: WindowEntry) => number, limit: number): readonly WindowEntry[] {
  let cuts = 0;
  return entries.map((entry) => {
    const left = room(entry);
    if (left >= 0 || entry.kind === "assistant" || cuts >= limit) return entry;
    cuts += 1;
    return cutEntry(entry, Math.max(MIN_CUT_TOKENS, entry.tokens + left));
  });
}

function cutEntry(entry: WindowEntry, tokens: number): WindowEntry {
  if (tokens >= entry.tokens) return entry;
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
export function resolveRefs(refs: PromptRefs, base: Pick<LastRequest, "seq" | "refs"> | null): readonly PromptRef[] | null {
  if (refs.base === null) return refs.add;
  if (base === null || base.seq !== refs.base || refs.drop > base.refs.length) return null;
  return [...base.refs.slice(refs.drop), ...refs.add];
}

/** The entries that `refs` name, as cut by them, in their order; null when one is not among the candidates. */
export function selectEntries(candidates: readonly WindowEntry[], refs: readonly PromptRef[]): readonly WindowEntry[] | null {
  if (candidates.length === refs.length && refs.every((ref, i) => isSameRef(ref, candidates[i]?.ref))) return candidates;
  const bySeq = new Map(candidates.map((entry) => [entry.ref[0], entry]));
  const selected: WindowEntry[] = [];
  for (const ref of refs) {
    const entry = bySeq.get(ref[0]);
    if (entry === undefined) return null;
    selected.push(withCut(entry, ref[2]));
  }
  return selected;
}
