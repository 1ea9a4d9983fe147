/**
 * branchPoint: where in a log another answer, or another text, begins (K41, K42).
 *
 * A prompt that was sent names its references, so the window before a message is read from the first request that held
 * it, whatever has been trimmed since. All looking up is bounded: ids are looked for in the newest events only.
 */
import { readWindow } from "#kernel/branch.ts";
import type { BranchPoint } from "#kernel/commands.ts";
import type { PromptRef, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { followRefs } from "#kernel/follow-refs.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { BranchHistory } from "./branch-history.ts";

/** How far back a message is looked for, and how far on the request that held it first. */
const MAX_SCANNED = 10_000;
const PAGE = 100;

type ThreadLog = Pick<EventLog<ThreadEvents>, "get" | "read">;
type Input = Extract<ThreadEvent, { readonly type: "input.received" }>;
type Request = Extract<ThreadEvent, { readonly type: "model.requested" }>;

export interface BranchSource {
  readonly log: ThreadLog;
  readonly history: BranchHistory;
  readonly state: ThreadState;
}
export interface FoundPoint {
  readonly input: Input;
  readonly point: BranchPoint;
}

/** The user's message of this id, or the one that the answer of this id answers; null for the newest. */
export function findInput(source: BranchSource, messageId: string | null): Input | null {
  const { log, state } = source;
  if (messageId === null) {
    const newest = state.window.findLast((entry) => entry.kind === "user");
    return newest === undefined ? null : asInput(log.get(newest.ref[0]));
  }
  for (const event of backwards(log, state.seq)) {
    if (event.type === "input.received" && idOf(event) === messageId) return event;
    if (event.type === "model.answered" && event.header.id === messageId)
      return answeredInput(log, event);
  }
  return null;
}

/** The point before `input`; with `replaced` the input itself is no part of the branch. */
export function pointBefore(
  source: BranchSource,
  input: Input,
  { replaced }: { readonly replaced: boolean },
): FoundPoint | null {
  const { log, history, state } = source;
  const { seq } = input.header;
  const request = firstRequestWith(log, seq, state.seq);
  if (request === null) return unshownPoint(source, input, replaced);
  const refs = followRefs((at) => log.get(at), request);
  if (refs === null) return null;
  const kept = before(refs, seq);
  const window = readWindow(kept, (at) => log.get(at));
  if (window === null) return null;
  const keepTo = request.header.seq - 1;
  // Of messages that entered with one request, those before this one stay.
  const stays = new Set([seq, ...kept.map(([other]) => other)]);
  const waiting = notYetShown(log, request, state.seq).filter((other) => !stays.has(other));
  const without = replaced ? [seq, ...waiting] : waiting;
  return { input, point: { ...window, parent: history.branchAt(state, keepTo), keepTo, without } };
}

/** A message whose run ended before any request: the window that is there holds it. */
function unshownPoint(
  { log, state }: BranchSource,
  input: Input,
  replaced: boolean,
): FoundPoint | null {
  const { seq } = input.header;
  const index = state.window.findIndex((entry) => entry.ref[0] === seq);
  if (index < 0) return null;
  const refs = state.window.slice(0, index).map((entry) => entry.ref);
  const window = readWindow(refs, (at) => log.get(at));
  if (window === null) return null;
  // The results of a step may be recorded after a message that came during it, and stand before it in the prompt.
  const keepTo = Math.max(seq, ...refs.map(([kept]) => kept));
  const later = inputsBetween(log, seq + 1, keepTo).filter((other) =>
    refs.every(([kept]) => kept !== other),
  );
  const point = { parent: state.branch.id, keepTo, without: replaced ? [seq, ...later] : later };
  return { input, point: { ...window, ...point } };
}

function idOf({ payload, header }: Input): string {
  return payload?.messageId ?? header.id;
}

function asInput(event: ThreadEvent | null): Input | null {
  return event?.type === "input.received" ? event : null;
}

/** The newest message in the prompt that was answered. */
function answeredInput(
  log: ThreadLog,
  answer: Extract<ThreadEvent, { readonly type: "model.answered" }>,
): Input | null {
  for (const event of backwards(log, answer.header.seq)) {
    if (event.type !== "model.requested" || event.header.id !== answer.header.cause) continue;
    const refs = followRefs((at) => log.get(at), event) ?? [];
    for (const [seq] of refs.toReversed()) {
      const input = asInput(log.get(seq));
      if (input !== null) return input;
    }
    return null;
  }
  return null;
}

/** A reference enters the prompt once, so it stands in what the first request with it added. */
function firstRequestWith(log: ThreadLog, seq: number, head: number): Request | null {
  for (const event of forwards(log, seq + 1, head)) {
    if (event.type !== "model.requested") continue;
    if (event.payload?.refs.add.some((ref) => ref[0] === seq) === true) return event;
  }
  return null;
}

/**
 * Inputs received before `request` that first stand in it or in a later one. Runs begin in the order of their inputs,
 * so the first run with a newer input ends the search.
 */
function notYetShown(log: ThreadLog, request: Request, head: number): readonly number[] {
  const limit = request.header.seq;
  const waiting: number[] = [];
  for (const event of forwards(log, limit, head)) {
    if (event.type === "branch.started" || event.type === "branch.selected") break;
    const shown =
      event.type === "run.started"
        ? event.payload?.inputs
        : event.type === "model.requested"
          ? event.payload?.steered
          : undefined;
    const older = (shown ?? []).filter((seq) => seq < limit);
    waiting.push(...older);
    if (event.type === "run.started" && older.length === 0) break;
  }
  return waiting;
}

function inputsBetween(log: ThreadLog, first: number, last: number): readonly number[] {
  const seqs: number[] = [];
  for (const event of forwards(log, first, last)) {
    if (event.type === "input.received") seqs.push(event.header.seq);
  }
  return seqs;
}

function before(refs: readonly PromptRef[], seq: number): readonly PromptRef[] {
  return refs.slice(
    0,
    refs.findIndex((ref) => ref[0] === seq),
  );
}

function* backwards(log: ThreadLog, newest: number): Generator<ThreadEvent> {
  const oldest = Math.max(1, newest - MAX_SCANNED + 1);
  for (let to = newest; to >= oldest; to -= PAGE) {
    const from = Math.max(oldest, to - PAGE + 1);
    yield* log.read({ from, to, limit: PAGE, reverse: true });
  }
}

function* forwards(log: ThreadLog, first: number, head: number): Generator<ThreadEvent> {
  const last = Math.min(head, first + MAX_SCANNED - 1);
  for (let from = first; from <= last; from += PAGE) {
    yield* log.read({ from, to: Math.min(last, from + PAGE - 1), limit: PAGE });
  }
}
