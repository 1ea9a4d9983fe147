/**
 * The dumped form of a thread's state: the same data, with the window as tuples. A wake parses it before anything else,
 * and the window is nearly all of it.
 */
import type { Json } from "#shared/json.ts";
import type { PromptRef } from "./events.ts";
import { isSameRef } from "./window.ts";
import type { LastRequest, ThreadState, WindowEntry } from "./state.ts";

const KINDS = ["user", "assistant", "result", "context"] as const;

type DumpedEntry = readonly [
  ...PromptRef,
  kind: number,
  tokens: number,
  chars: number,
  unit: number,
];
/** Refs of the newest request that open the window too are not said twice: `shared` of them, then the rest. */
interface DumpedRequest extends Omit<LastRequest, "refs"> {
  readonly shared: number;
  readonly rest: readonly PromptRef[];
}
interface DumpedState extends Omit<ThreadState, "window" | "lastRequest"> {
  readonly window: readonly DumpedEntry[];
  readonly lastRequest: DumpedRequest | null;
}

export function dumpState(state: ThreadState): Json {
  const { window, lastRequest } = state;
  // Spread first: members keep their places, so that equal states stay equal texts.
  const dumped: DumpedState = {
    ...state,
    window: window.map(dumpEntry),
    lastRequest: lastRequest === null ? null : dumpRequest(lastRequest, window),
  };
  // Plain readonly data by contract of ThreadState; interfaces merely lack the index signature that `Json` asks for.
  return dumped as unknown as Json;
}

export function restoreState(json: Json): ThreadState {
  // Written by `dumpState` of this fold version: snapshots of another one are never restored (L9).
  const dumped = json as unknown as DumpedState;
  const { lastRequest } = dumped;
  const window = dumped.window.map(restoreEntry);
  return {
    ...dumped,
    window,
    lastRequest: lastRequest === null ? null : restoreRequest(lastRequest, window),
  };
}

function dumpEntry({ ref, kind, tokens, chars, unit }: WindowEntry): DumpedEntry {
  return [...ref, KINDS.indexOf(kind), tokens, chars, unit];
}

function restoreEntry([seq, part, cut, kind, tokens, chars, unit]: DumpedEntry): WindowEntry {
  return { ref: [seq, part, cut], kind: KINDS[kind] ?? "context", tokens, chars, unit };
}

function dumpRequest(
  { refs, ...rest }: LastRequest,
  window: readonly WindowEntry[],
): DumpedRequest {
  let shared = 0;
  while (shared < refs.length && isSameRef(refs[shared], window[shared]?.ref)) shared += 1;
  return { ...rest, shared, rest: refs.slice(shared) };
}

function restoreRequest(
  { seq, shared, rest, sinceFull }: DumpedRequest,
  window: readonly WindowEntry[],
): LastRequest {
  const refs = [...window.slice(0, shared).map((entry) => entry.ref), ...rest];
  return { seq, refs, sinceFull };
}
