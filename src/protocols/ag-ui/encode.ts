/**
 * Events of AG-UI from a turn.
 *
 * P71 the order is legal whatever happens: a run is started once and finished or failed once, and what is open is closed
 * before. P72 each event has a number that follows from its place in the log; the same run read again gives the same numbers,
 * so a client that sends the last one back gets what is behind it. P73 a change of state applies to the state that was told
 * before: the first is a snapshot.
 */
import { createPatch } from "rfc6902";
import type { AnswerPart, ThreadEvents } from "#kernel/events.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import type { TurnEnd, TurnItem, WaitingCall } from "#protocols/common/turn.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import type { AgUiEvent } from "./wire.ts";

export interface Numbered {
  readonly number: number;
  readonly event: AgUiEvent;
}
export interface RunFrame {
  /** As the client calls them. */
  readonly threadId: string;
  readonly runId: string;
  /** Of the thread's log. */
  readonly run: string;
  /** Seq that the run is read from. */
  readonly seq: number;
  /** As it was before the run is read; null for none. */
  readonly state: Json;
  /** Number of what the reader was told last, elsewhere; -1 for nothing. */
  readonly after: number;
  /** As `seenText` has it. Absent: the reader saw nothing before. */
  readonly seen?: number | null;
}

/** Places within one event of the log; beyond it the characters of a text are numbered alike. */
const PER_EVENT = 10_000_000;
const LAST = PER_EVENT - 1;
/** Place of a text's first event, within the event that asked for it. */
const TEXT_BEGUN = 9;

/** Seq of the `model.requested` whose text a reader was in the middle of; null where it was not. */
export function seenText(after: number): number | null {
  const place = after % PER_EVENT;
  return place >= TEXT_BEGUN && place < LAST ? Math.floor(after / PER_EVENT) : null;
}

export class RunWriter {
  readonly #frame: RunFrame;
  #state: Json;
  /** Seq of the newest `model.requested`, and how many steps were begun. */
  #seq: number;
  #step = 0;
  #attempt = 0;
  #text: { readonly id: string; readonly seq: number; length: number } | null = null;
  #usage: JsonObject[] = [];

  constructor(frame: RunFrame) {
    this.#frame = frame;
    this.#seq = frame.seq;
    this.#state = frame.state;
  }

  begin(): readonly Numbered[] {
    const { threadId, runId, seq, state } = this.#frame;
    const events: AgUiEvent[] = [{ type: "RUN_STARTED", threadId, runId }];
    if (state !== null) events.push({ type: "STATE_SNAPSHOT", snapshot: state });
    return numbered(seq * PER_EVENT, events);
  }

  read(item: TurnItem): readonly Numbered[] {
    switch (item.type) {
      case "text":
        return this.#said(item.text);
      case "discard":
        return this.#discard();
      case "answered":
        return this.#answered(item.cursor.seq, item.answer);
      case "event":
        return this.#event(item.event);
      case "end":
        return this.#end(item.end, item.cursor.seq);
    }
  }

  #said(text: string): readonly Numbered[] {
    const opening = this.#text === null ? this.#open() : [];
    const open = this.#text;
    if (open === null) return opening;
    open.length += text.length;
    const event: AgUiEvent = { type: "TEXT_MESSAGE_CONTENT", messageId: open.id, delta: text };
    return [...opening, { number: open.seq * PER_EVENT + 10 + open.length, event }];
  }

  #open(): readonly Numbered[] {
    const id = this.#messageId();
    this.#text = { id, seq: this.#seq, length: 0 };
    const event: AgUiEvent = { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" };
    return [{ number: this.#seq * PER_EVENT + TEXT_BEGUN, event }];
  }

  #messageId(): string {
    return `${this.#frame.run}_${this.#step}_${this.#attempt}`;
  }

  /** What was said of the step is void: its message is closed and says so, and another takes its place. */
  #discard(): readonly Numbered[] {
    const open = this.#text;
    if (open === null) return [];
    this.#text = null;
    return numbered(this.#seq * PER_EVENT + 2, [
      { type: "TEXT_MESSAGE_END", messageId: open.id },
      { type: "CUSTOM", name: "holdfast.discarded", value: { messageId: open.id } },
    ]);
  }

  #event({ header, payload }: EventView): readonly Numbered[] {
    const number = header.seq * PER_EVENT;
    switch (header.type) {
      case "model.requested":
        return this.#requested(header.seq, header.step ?? 0);
      case "tool.finished":
        return numbered(number, [toResult(header.call ?? "", resultText(payload as never))]);
      case "tool.refused":
        return numbered(number, [toResult(header.call ?? "", refusalText(payload as never))]);
      case "state.set":
        return numbered(number, this.#changed(number, payload as never));
      default:
        return [];
    }
  }

  #requested(seq: number, step: number): readonly Numbered[] {
    this.#seq = seq;
    this.#attempt += 1;
    if (step === this.#step) return this.#takeUp(seq);
    const events: AgUiEvent[] = this.#stepEnd();
    this.#step = step;
    this.#attempt = 1;
    events.push({ type: "STEP_STARTED", stepName: `step ${step}` });
    this.#takeUp(seq);
    return numbered(seq * PER_EVENT, events);
  }

  /** Open already, for who saw it begin; its text may be gone with the process that had it. */
  #takeUp(seq: number): readonly Numbered[] {
    if (seq === this.#frame.seen) this.#text = { id: this.#messageId(), seq, length: 0 };
    return [];
  }

  #stepEnd(): AgUiEvent[] {
    return this.#step === 0 ? [] : [{ type: "STEP_FINISHED", stepName: `step ${this.#step}` }];
  }

  #changed(number: number, payload: ThreadEvents["state.set"] | null): readonly AgUiEvent[] {
    if (payload === null) return [];
    // Told before, to a reader of whom nobody knows what they made of it: the next change is told whole.
    if (number <= this.#frame.after) return [];
    const before = this.#state;
    this.#state = payload.state;
    if (before === null) return [{ type: "STATE_SNAPSHOT", snapshot: payload.state }];
    // Operations of RFC 6902 are plain JSON.
    const delta = createPatch(before, payload.state) as unknown as Json;
    return [{ type: "STATE_DELTA", delta }];
  }

  #answered(seq: number, answer: ThreadEvents["model.answered"] | null): readonly Numbered[] {
    const events: AgUiEvent[] = this.#closeText();
    if (answer === null) return numbered(seq * PER_EVENT, events);
    const { usage, parts } = answer;
    this.#usage.push(toUsage(usage));
    parts.forEach((part, index) => events.push(...this.#part(part, index)));
    return numbered(seq * PER_EVENT, events);
  }

  #closeText(): AgUiEvent[] {
    const open = this.#text;
    this.#text = null;
    return open === null ? [] : [{ type: "TEXT_MESSAGE_END", messageId: open.id }];
  }

  #part(part: AnswerPart, index: number): readonly AgUiEvent[] {
    if (part.type === "call") {
      const { callId: toolCallId, name, args, argsText } = part;
      const parentMessageId = this.#messageId();
      const delta = args === null ? argsText : JSON.stringify(args);
      return [
        { type: "TOOL_CALL_START", toolCallId, toolCallName: name, parentMessageId },
        ...(delta === "" ? [] : [{ type: "TOOL_CALL_ARGS", toolCallId, delta }]),
        { type: "TOOL_CALL_END", toolCallId },
      ];
    }
    if (part.type !== "reasoning" || part.text === "") return [];
    const messageId = `${this.#messageId()}_r${index}`;
    return [
      { type: "REASONING_START", messageId },
      { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId, delta: part.text },
      { type: "REASONING_MESSAGE_END", messageId },
      { type: "REASONING_END", messageId },
    ];
  }

  #end(end: TurnEnd, seq: number): readonly Numbered[] {
    const { threadId, runId } = this.#frame;
    // What is open stays open: the stream is read on from here, and its end closes it once.
    const broken = end.type === "running" || end.type === "broken";
    const closing = broken ? [] : [...this.#closeText(), ...this.#stepEnd()];
    const finished = { type: "RUN_FINISHED", threadId, runId, usage: this.#usage };
    const last = (event: AgUiEvent): readonly Numbered[] => [
      ...numbered(seq * PER_EVENT + 100, closing),
      { number: seq * PER_EVENT + LAST, event },
    ];
    switch (end.type) {
      case "completed":
        return last({
          ...finished,
          outcome: { type: "success" },
          result: { finish: end.payload?.finish ?? null, output: end.payload?.output ?? null },
        });
      case "waiting":
        return last({ ...finished, outcome: toWaiting(end.calls) });
      case "cancelled":
        return last({ ...finished, outcome: { type: "cancelled" } });
      case "failed": {
        const { reason = "internal", message = "The run failed." } = end.payload ?? {};
        return last({ type: "RUN_ERROR", code: reason, message });
      }
      case "running":
      case "broken":
        return last({ type: "RUN_ERROR", code: CUT, message: BROKEN });
    }
  }
}

const CUT = "stream_incomplete";
const BROKEN =
  "The stream was cut off; the run goes on. Read it again with the id of the last event.";

export function isBrokenOff({ event }: Numbered): boolean {
  return event.type === "RUN_ERROR" && event["code"] === CUT;
}

/** Of the events behind `after`, what the client has not seen of each. */
export function behind({ number, event }: Numbered, after: number): Numbered | null {
  if (number <= after) return null;
  if (event.type !== "TEXT_MESSAGE_CONTENT") return { number, event };
  const delta = String(event["delta"]);
  const unseen = Math.min(delta.length, number - after);
  return { number, event: { ...event, delta: delta.slice(delta.length - unseen) } };
}

/** The id names its run: one of another stream is refused, wherever its number would lie in this one. */
export function toBlock({ number, event }: Numbered, run: string): string {
  return `id: ${run}.${number}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Null for what is no id of this run's stream. */
export function parseEventId(id: string, run: string): number | null {
  const [, of, number] = /^([^.]+)\.(-?\d{1,16})$/.exec(id) ?? [];
  return of === run && number !== undefined ? Number(number) : null;
}

/** What only the client can do it does; what a person decides is an interrupt. */
function toWaiting(calls: readonly WaitingCall[]): JsonObject {
  const asked = calls.filter(({ brought }) => !brought);
  if (asked.length === 0) {
    const pendingToolCallIds = calls.map(({ callId }) => callId);
    return { type: "success", pendingToolCallIds };
  }
  const interrupts = calls.map(({ approvalId, callId, question, brought, name }) => ({
    id: approvalId,
    reason: brought ? "tool_call" : question === null ? "approval" : "question",
    message: question ?? `May ${name} run?`,
    toolCallId: callId,
  }));
  return { type: "interrupt", interrupts };
}

function toResult(toolCallId: string, content: string): AgUiEvent {
  return { type: "TOOL_CALL_RESULT", messageId: `${toolCallId}_result`, toolCallId, content };
}
function resultText(payload: ThreadEvents["tool.finished"] | null): string {
  return payload?.result.output ?? "(erased)";
}
function refusalText(payload: ThreadEvents["tool.refused"] | null): string {
  return payload === null ? "(erased)" : `${payload.refusal.code}: ${payload.refusal.message}`;
}

function toUsage(usage: ThreadEvents["model.answered"]["usage"]): JsonObject {
  const counts = {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    cachedInputTokens: usage.cachedInputTokens,
    cacheWriteInputTokens: usage.cacheWriteTokens,
  };
  // Not reported is not zero.
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null));
}

function numbered(first: number, events: readonly AgUiEvent[]): readonly Numbered[] {
  return events.map((event, index) => ({ number: first + index, event }));
}
