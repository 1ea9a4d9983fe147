/**
 * Turn: one caller's wait on one run, read from the thread's frames: from a position until the run ends or only people
 * (or the caller itself) move it. Every protocol whose answers are turns encodes what this yields.
 *
 * Invariants:
 * N1 The texts of a step add up to its recorded answer exactly, live or replayed; a `discard` says that what was given of
 *    the step is void and begins again.
 * N2 Exactly one end, and nothing after it. A stream that breaks off is `broken`, never a completion.
 */
import type { AnswerPart, ThreadEvents } from "#kernel/events.ts";
import type { EventView, StreamCursor, StreamFrame } from "#ports/thread-gateway.ts";
import { CALLER_VERSION } from "#shared/caller-version.ts";
import { isJsonObject } from "#shared/json.ts";
import { FrameLines } from "./frame-lines.ts";

/** A call that waits, as it was made: a person's decision, or the caller's own result when `brought`. */
export interface WaitingCall {
  readonly approvalId: string;
  readonly callId: string;
  readonly name: string;
  readonly argsText: string;
  /** A tool that the caller brought along: its result is what is waited for (P60). */
  readonly brought: boolean;
  readonly question: string | null;
}
type Ended = "run.completed" | "run.failed" | "run.cancelled";
export type TurnEnd =
  | { readonly type: "completed"; readonly payload: ThreadEvents["run.completed"] | null }
  | { readonly type: "failed"; readonly payload: ThreadEvents["run.failed"] | null }
  | { readonly type: "cancelled"; readonly payload: ThreadEvents["run.cancelled"] | null }
  | { readonly type: "waiting"; readonly calls: readonly WaitingCall[] }
  | { readonly type: "running" }
  | { readonly type: "broken" };
export type TurnItem =
  | {
      readonly type: "text";
      readonly step: number;
      readonly text: string;
      readonly cursor: StreamCursor;
    }
  | { readonly type: "discard"; readonly step: number; readonly cursor: StreamCursor }
  | {
      readonly type: "answered";
      readonly step: number;
      readonly answer: ThreadEvents["model.answered"] | null;
      readonly cursor: StreamCursor;
    }
  /** Any other event of the run, and each change of the shared state. */
  | { readonly type: "event"; readonly event: EventView; readonly cursor: StreamCursor }
  | {
      readonly type: "end";
      readonly end: TurnEnd;
      /** Of the run's last event; null where the turn ends and the run does not. */
      readonly at: number | null;
      readonly cursor: StreamCursor;
    };

export interface TurnStart {
  readonly runId: string;
  /** Before the run's input, or before the first of the decisions that move it: no call waits there. */
  readonly from: StreamCursor;
  /** False: tell how things stand, and end there as `running` where the run goes on. */
  readonly follow: boolean;
  /** The whole run: a wait that is over is part of what is told. Otherwise the first wait ends the turn. */
  readonly whole: boolean;
  /**
   * Seq of the `model.requested` whose text the reader has seen some of before, elsewhere: that text may be gone with its
   * process, and is void all the same when the model begins again. Null or absent: none.
   */
  readonly seen?: number | null;
}

export interface OpenTurn<Item = TurnItem> {
  readonly items: AsyncGenerator<Item, void, undefined>;
  /** Whoever reads has left: ends the read that is under way. The run goes on. */
  close(): Promise<void>;
}

/** What a subscription tells beside a turn: it goes on over waits, to the end of the run. */
export type SubscriptionItem =
  | TurnItem
  | {
      readonly type: "waiting";
      readonly calls: readonly WaitingCall[];
      readonly cursor: StreamCursor;
    }
  /** What was told before is how the run stood; what follows is new. A wait that holds now was told right before. */
  | { readonly type: "caught_up"; readonly cursor: StreamCursor };

export function openTurn(frames: ReadableStream<Uint8Array>, start: TurnStart): OpenTurn {
  const { items, close } = open(frames, new Turn(start, false));
  return { items: turnItems(items), close };
}

/** A whole run, from its beginning to its end. */
export function openSubscription(
  frames: ReadableStream<Uint8Array>,
  start: Pick<TurnStart, "runId" | "from">,
): OpenTurn<SubscriptionItem> {
  return open(frames, new Turn({ ...start, follow: true, whole: true }, true));
}

/** What a subscription would have told of these events of a run, as far as they go. */
export function readEvents(
  events: readonly EventView[],
  runId: string,
): readonly SubscriptionItem[] {
  const cursor = { seq: 0, attempt: 0, offset: 0 };
  const turn = new Turn({ runId, from: cursor, follow: true, whole: true }, true);
  const items = events.flatMap((event) =>
    turn.read({ type: "event", cursor: { ...cursor, seq: event.header.seq }, event }),
  );
  const isOver = items.some(({ type }) => type === "end");
  return isOver ? items : [...items, ...turn.read({ type: "caught_up", cursor })];
}

function open(frames: ReadableStream<Uint8Array>, turn: Turn): OpenTurn<SubscriptionItem> {
  const lines = new FrameLines(frames);
  // The stream may be at its end already, or gone with its object.
  const close = async (): Promise<void> => lines.cancel("the turn is over").catch(() => undefined);
  return { items: readItems(lines, turn, close), close };
}

async function* turnItems(
  items: AsyncIterable<SubscriptionItem>,
): AsyncGenerator<TurnItem, void, undefined> {
  for await (const item of items)
    if (item.type !== "waiting" && item.type !== "caught_up") yield item;
}

async function* readItems(
  lines: FrameLines,
  turn: Turn,
  close: () => Promise<void>,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  try {
    for (;;) {
      const line = await lines.next();
      const frame = line === null ? null : parseFrame(line);
      const items = frame === null ? [turn.broken()] : turn.read(frame);
      yield* items;
      if (items.at(-1)?.type === "end") return;
    }
  } catch {
    yield turn.broken();
  } finally {
    await close();
  }
}

/** Null for what is no frame: the stream is then as good as broken. */
function parseFrame(line: string): StreamFrame | null {
  try {
    const frame: unknown = JSON.parse(line);
    // The object wrote it, in this build or one that is being replaced by it.
    return isJsonObject(frame) ? (frame as unknown as StreamFrame) : null;
  } catch {
    return null;
  }
}

type CallPlace =
  | { readonly state: "open"; readonly part: Extract<AnswerPart, { readonly type: "call" }> }
  | {
      readonly state: "waiting";
      readonly part: Extract<AnswerPart, { readonly type: "call" }>;
      readonly call: WaitingCall;
    };

class Turn {
  readonly #runId: string;
  readonly #follow: boolean;
  readonly #subscription: boolean;
  /** While true, a decision may already be in the log, so a wait is not yet an end. */
  #replaying: boolean;
  #cursor: StreamCursor;
  /** Calls of the step at hand without a result. */
  readonly #calls = new Map<string, CallPlace>();
  /** More of a budget is asked for: shown like a call, because that is what these protocols can show. */
  #asked: WaitingCall | null = null;
  #given: { step: number; length: number } = { step: 0, length: 0 };
  readonly #seen: number | null;
  /** The step whose text the reader has some of, though it was not given here. */
  #seenStep: number | null = null;

  constructor({ runId, from, follow, whole, seen = null }: TurnStart, subscription: boolean) {
    this.#seen = seen;
    this.#runId = runId;
    this.#subscription = subscription;
    this.#follow = follow;
    this.#replaying = whole;
    this.#cursor = from;
  }

  broken(): SubscriptionItem {
    return { type: "end", end: { type: "broken" }, at: null, cursor: this.#cursor };
  }

  read(frame: StreamFrame): readonly SubscriptionItem[] {
    this.#cursor = frame.cursor;
    if (frame.type === "caught_up") return this.#caughtUp();
    if (frame.type === "event") return this.#event(frame.event);
    if (frame.runId !== this.#runId) return [];
    if (frame.type === "delta") return this.#text(frame.step, frame.text);
    return this.#discard(frame.step);
  }

  #caughtUp(): readonly SubscriptionItem[] {
    this.#replaying = false;
    const paused = this.#pause();
    if (this.#subscription) return [...paused, { type: "caught_up", cursor: this.#cursor }];
    if (this.#follow || paused.length > 0) return paused;
    return [{ type: "end", end: { type: "running" }, at: null, cursor: this.#cursor }];
  }

  #discard(step: number): readonly SubscriptionItem[] {
    const isVoid = this.#seenStep === step || (this.#given.step === step && this.#given.length > 0);
    this.#seenStep = null;
    this.#given = { step, length: 0 };
    return isVoid ? [{ type: "discard", step, cursor: this.#cursor }] : [];
  }

  #text(step: number, text: string): readonly SubscriptionItem[] {
    if (text === "") return [];
    const before = this.#given.step === step ? this.#given.length : 0;
    this.#given = { step, length: before + text.length };
    return [{ type: "text", step, text, cursor: this.#cursor }];
  }

  #event(event: EventView): readonly SubscriptionItem[] {
    const { header } = event;
    // The thread's shared state belongs to no run, and whoever follows one sees it change.
    if (header.type === "state.set") return [{ type: "event", event, cursor: this.#cursor }];
    if (header.run !== this.#runId) return [];
    // The catalogue names the shape of each type's payload; an erased one is null.
    const payload = event.payload as never;
    switch (header.type) {
      case "model.requested":
        if (header.seq === this.#seen) this.#seenStep = header.step;
        return [{ type: "event", event, cursor: this.#cursor }];
      case "model.answered":
        return this.#answered(header.step ?? 0, payload);
      case "tool.finished":
      case "tool.refused":
        return this.#closed(event);
      case "approval.requested":
        return this.#waiting(event, payload);
      case "approval.decided":
        return this.#decided(event);
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
        return [this.#end(header.type, { at: header.at, payload })];
      default:
        return [{ type: "event", event, cursor: this.#cursor }];
    }
  }

  #answered(
    step: number,
    answer: ThreadEvents["model.answered"] | null,
  ): readonly SubscriptionItem[] {
    const parts = answer?.parts ?? [];
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const given = this.#given.step === step ? this.#given.length : 0;
    const rest = this.#text(step, text.slice(given));
    this.#calls.clear();
    for (const part of parts)
      if (part.type === "call") this.#calls.set(part.callId, { state: "open", part });
    return [...rest, { type: "answered", step, answer, cursor: this.#cursor }];
  }

  #closed(event: EventView): readonly SubscriptionItem[] {
    this.#calls.delete(event.header.call ?? "");
    return [{ type: "event", event, cursor: this.#cursor }, ...this.#pause()];
  }

  #waiting(
    event: EventView,
    payload: ThreadEvents["approval.requested"] | null,
  ): readonly SubscriptionItem[] {
    const callId = event.header.call ?? "";
    if (payload?.budget !== undefined) this.#asked = toAsked(event.header.id, payload);
    const place = this.#calls.get(callId);
    if (place?.state === "open") {
      const call: WaitingCall = {
        approvalId: event.header.id,
        callId,
        name: place.part.name,
        argsText: toArgsText(place.part),
        brought: payload?.version === CALLER_VERSION,
        question: payload?.question ?? null,
      };
      this.#calls.set(callId, { state: "waiting", part: place.part, call });
    }
    return [{ type: "event", event, cursor: this.#cursor }, ...this.#pause()];
  }

  #decided(event: EventView): readonly SubscriptionItem[] {
    if (this.#asked?.approvalId === event.header.cause) this.#asked = null;
    for (const [callId, place] of this.#calls) {
      if (place.state === "waiting" && place.call.approvalId === event.header.cause)
        this.#calls.set(callId, { state: "open", part: place.part });
    }
    return [{ type: "event", event, cursor: this.#cursor }];
  }

  /** Nothing but a decision moves the run: each call of the step that is not closed waits. */
  #pause(): readonly SubscriptionItem[] {
    if (this.#replaying) return [];
    if (this.#asked !== null) return this.#paused([this.#asked]);
    const places = [...this.#calls.values()];
    const calls = places.flatMap((place) => (place.state === "waiting" ? [place.call] : []));
    return calls.length === 0 || calls.length < places.length ? [] : this.#paused(calls);
  }

  #paused(calls: readonly WaitingCall[]): readonly SubscriptionItem[] {
    const cursor = this.#cursor;
    return this.#subscription
      ? [{ type: "waiting", calls, cursor }]
      : [{ type: "end", end: { type: "waiting", calls }, at: null, cursor }];
  }

  #end(
    type: Ended,
    { at, payload }: { readonly at: number; readonly payload: never },
  ): SubscriptionItem {
    const end: TurnEnd =
      type === "run.completed"
        ? { type: "completed", payload }
        : type === "run.failed"
          ? { type: "failed", payload }
          : { type: "cancelled", payload };
    return { type: "end", end, at, cursor: this.#cursor };
  }
}

function toAsked(
  approvalId: string,
  { tool, budget }: ThreadEvents["approval.requested"],
): WaitingCall {
  const args = { budget: tool, unit: budget?.stop.unit ?? null, amount: budget?.amount ?? null };
  return {
    approvalId,
    callId: approvalId,
    name: "raise_budget",
    argsText: JSON.stringify(args),
    brought: false,
    question: null,
  };
}

/** As the tool will get it, where it was understood; else as the model wrote it. */
function toArgsText(part: Extract<AnswerPart, { readonly type: "call" }>): string {
  return part.args === null ? part.argsText : JSON.stringify(part.args);
}
