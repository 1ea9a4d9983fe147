/**
 * Responses from a turn: the object as it stands, and the events that build it.
 *
 * P64 `sequence_number` follows from the place in the log, so a stream that is asked for again with `starting_after` goes on
 * behind it, over restarts too, and gives no character twice. An answer that was begun again is closed as incomplete and
 * another item takes its place; the last event holds the whole response, which is what counts.
 */
import type { TurnEnd, TurnItem, WaitingCall } from "#protocols/common/turn.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { EventHeader } from "#ports/event-log.ts";
import type { Json } from "#shared/json.ts";
import { CANCELLED, CUT_OFF, fromFailedRun, type OpenAiError } from "./errors.ts";
import { toCallId, toResponseId, type ResponsePlace } from "./ids.ts";
import { addUsage, NO_USAGE, toResponseUsage, type Tokens } from "./usage.ts";

export interface ResponseFrame {
  readonly place: ResponsePlace;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  readonly previous: string | null;
  readonly background: boolean;
  readonly structured: boolean;
  /** The form that the answer was asked for in. */
  readonly format: OutputSpec | null;
}
type Status = "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
interface Built {
  readonly status: Status;
  readonly output: readonly object[];
  readonly usage: Tokens;
  readonly error: OpenAiError | null;
  readonly incomplete: string | null;
}

/** Places within one event of the log. Beyond it the characters of a step are numbered alike. */
const PER_EVENT = 10_000_000;
const LAST = PER_EVENT - 1;
/** Place of a text's first event, within the event that asked for it. */
const TEXT_BEGUN = 8;

interface Event {
  readonly number: number;
  readonly type: string;
  readonly data: object;
}

export async function* toEvents(
  items: AsyncIterable<TurnItem>,
  frame: ResponseFrame,
  startingAfter: number,
): AsyncGenerator<string, void, undefined> {
  const writer = new Writer(frame, seenText(startingAfter));
  let told = startingAfter;
  for (const event of writer.begin()) if (event.number > startingAfter) yield toBlock(event);
  for await (const item of items) {
    for (const event of writer.read(item)) {
      // That it broke off has no place in the log: whoever goes on from here misses nothing.
      const left =
        event.type === "error" ? { ...event, number: told } : behind(event, startingAfter);
      if (left === null) continue;
      told = left.number;
      yield toBlock(left);
    }
  }
}

/** Seq of the `model.requested` whose text a reader was in the middle of; null where it was not. */
export function seenText(startingAfter: number): number | null {
  const place = startingAfter % PER_EVENT;
  return place >= TEXT_BEGUN && place < LAST - 10 ? Math.floor(startingAfter / PER_EVENT) : null;
}

/** The response as it stands at the end of what is read. */
export async function toResponse(
  items: AsyncIterable<TurnItem>,
  frame: ResponseFrame,
): Promise<object> {
  const writer = new Writer(frame);
  for await (const item of items) writer.read(item);
  return writer.response();
}

/** The part of an event that the client has not seen. */
function behind(event: Event, startingAfter: number): Event | null {
  if (event.number <= startingAfter) return null;
  if (event.type !== "response.output_text.delta") return event;
  const { delta } = event.data as { readonly delta: string };
  const unseen = Math.min(delta.length, event.number - startingAfter);
  return { ...event, data: { ...event.data, delta: delta.slice(delta.length - unseen) } };
}

function toBlock({ number, type, data }: Event): string {
  const body = { type, sequence_number: number, ...data };
  return `event: ${type}\ndata: ${JSON.stringify(body)}\n\n`;
}

interface OpenText {
  readonly id: string;
  readonly index: number;
  readonly seq: number;
  text: string;
}

class Writer {
  readonly #frame: ResponseFrame;
  readonly #output: object[] = [];
  #built: Omit<Built, "output"> = {
    status: "in_progress",
    usage: NO_USAGE,
    error: null,
    incomplete: null,
  };
  /** Seq of the newest `model.requested`. */
  #seq: number;
  #open: OpenText | null = null;
  readonly #seen: number | null;

  /** `seen` as `seenText` has it. */
  constructor(frame: ResponseFrame, seen: number | null = null) {
    this.#seen = seen;
    this.#frame = frame;
    this.#seq = frame.place.seq;
  }

  begin(): readonly Event[] {
    const number = this.#frame.place.seq * PER_EVENT;
    const data = { response: this.response() };
    return [
      { number, type: "response.created", data },
      { number: number + 1, type: "response.in_progress", data },
    ];
  }

  response(): object {
    return toObject(this.#frame, { ...this.#built, output: this.#output });
  }

  read(item: TurnItem): readonly Event[] {
    switch (item.type) {
      case "event":
        if (item.event.header.type === "model.requested") this.#requested(item.event.header);
        return [];
      case "text":
        return this.#frame.structured ? [] : this.#text(item.step, item.text);
      case "discard":
        return this.#void();
      case "answered":
        this.#built = { ...this.#built, usage: addUsage(this.#built.usage, item.answer) };
        return this.#close("completed", item.cursor.seq * PER_EVENT);
      case "end":
        return this.#end(item.end, item.cursor.seq);
    }
  }

  #requested({ seq, step }: EventHeader): void {
    this.#seq = seq;
    // Open already, for who saw it begin; its text may be gone with the process that had it.
    if (seq === this.#seen && !this.#frame.structured)
      this.#open = { id: this.#itemId(step ?? 0), index: this.#output.length, seq, text: "" };
  }

  #itemId(step: number): string {
    return `msg_${this.#frame.place.run}_${step}`;
  }

  #text(step: number, text: string): readonly Event[] {
    const opening = this.#open === null ? this.#begin(this.#itemId(step)) : [];
    const open = this.#open;
    if (open === null) return opening;
    open.text += text;
    const number = open.seq * PER_EVENT + 10 + open.text.length;
    const at = { item_id: open.id, output_index: open.index, content_index: 0 };
    const data = { ...at, delta: text, logprobs: [] };
    return [...opening, { number, type: "response.output_text.delta", data }];
  }

  #begin(id: string): readonly Event[] {
    const index = this.#output.length;
    const seq = this.#seq;
    this.#open = { id, index, seq, text: "" };
    const number = seq * PER_EVENT + TEXT_BEGUN;
    const item = messageItem(id, null, "in_progress");
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const at = { item_id: id, output_index: index, content_index: 0 };
    return [
      { number, type: "response.output_item.added", data: { output_index: index, item } },
      { number: number + 1, type: "response.content_part.added", data: { ...at, part } },
    ];
  }

  /** Its item stays, empty: what was void is no part of the response's text. */
  #void(): readonly Event[] {
    if (this.#open !== null) this.#open.text = "";
    return this.#close("incomplete", this.#seq * PER_EVENT);
  }

  #close(status: "completed" | "incomplete", number: number): readonly Event[] {
    const open = this.#open;
    if (open === null) return [];
    this.#open = null;
    const { id, index, text } = open;
    const item = messageItem(id, text, status);
    this.#output[index] = item;
    const at = { item_id: id, output_index: index, content_index: 0 };
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    const done = {
      number: number + 2,
      type: "response.output_item.done",
      data: { output_index: index, item },
    };
    if (status === "incomplete") return [done];
    return [
      { number, type: "response.output_text.done", data: { ...at, text, logprobs: [] } },
      { number: number + 1, type: "response.content_part.done", data: { ...at, part } },
      done,
    ];
  }

  #end(end: TurnEnd, seq: number): readonly Event[] {
    const number = seq * PER_EVENT;
    // What is open when a stream breaks off stays open: it is read on from there.
    const events: Event[] = end.type === "broken" ? [] : [...this.#close("incomplete", number)];
    if (end.type === "waiting") {
      for (const call of end.calls) events.push(...this.#call(call, number + 100 + events.length));
    }
    if (end.type === "completed" && this.#frame.structured && end.payload !== null) {
      const { output, text } = end.payload;
      this.#seq = seq;
      events.push(...this.#text(0, output === null ? text : JSON.stringify(output)));
      events.push(...this.#close("completed", number + LAST - 10));
    }
    this.#built = { ...this.#built, ...toBuilt(end) };
    // Nothing has ended: the client comes back for the rest.
    if (end.type === "running") return events;
    if (end.type === "broken") {
      const { message, code } = CUT_OFF;
      return [
        ...events,
        { number: number + LAST, type: "error", data: { code, message, param: null } },
      ];
    }
    const type = `response.${this.#built.status}`;
    return [...events, { number: number + LAST, type, data: { response: this.response() } }];
  }

  #call(call: WaitingCall, number: number): readonly Event[] {
    const index = this.#output.length;
    const item = callItem(call, this.#frame);
    this.#output.push(item);
    const added = {
      number,
      type: "response.output_item.added",
      data: { output_index: index, item },
    };
    const done = { ...added, number: number + 3, type: "response.output_item.done" };
    if (!("call_id" in item)) return [added, done];
    const at = { item_id: item.id, output_index: index };
    const empty = { ...item, arguments: "", status: "in_progress" };
    return [
      { ...added, data: { output_index: index, item: empty } },
      {
        number: number + 1,
        type: "response.function_call_arguments.delta",
        data: { ...at, delta: call.argsText },
      },
      {
        number: number + 2,
        type: "response.function_call_arguments.done",
        data: { ...at, name: call.name, arguments: call.argsText },
      },
      done,
    ];
  }
}

function messageItem(id: string, text: string | null, status: string): object {
  const content =
    text === null ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return { id, type: "message", role: "assistant", status, content };
}

/** What a function answers, and what a question is answered with, is an output; a yes or no is an approval. */
function callItem(
  { approvalId, name, argsText, question }: WaitingCall,
  { place }: ResponseFrame,
): { readonly id: string; readonly call_id?: string } & Record<string, Json> {
  const id = toCallId({ thread: place.thread, approvalId });
  if (question === null)
    return {
      id,
      type: "mcp_approval_request",
      server_label: place.agent,
      name,
      arguments: argsText,
    };
  return {
    id: `fc_${id}`,
    type: "function_call",
    call_id: id,
    name,
    arguments: argsText,
    status: "completed",
  };
}

function toBuilt(end: TurnEnd): Pick<Built, "status" | "error" | "incomplete"> {
  switch (end.type) {
    case "completed":
      return { error: null, ...toCompleted(end.payload?.finish) };
    case "waiting":
      return { status: "completed", error: null, incomplete: null };
    case "failed":
      return { status: "failed", error: fromFailedRun(end.payload).error, incomplete: null };
    case "cancelled":
      return { status: "cancelled", error: CANCELLED, incomplete: null };
    case "running":
    case "broken":
      return { status: "in_progress", error: null, incomplete: null };
  }
}

function toCompleted(finish: string | undefined): Pick<Built, "status" | "incomplete"> {
  if (finish === "content_filter") return { status: "incomplete", incomplete: "content_filter" };
  const isCut = finish === "length" || finish === "step_cap" || finish === "loop_guard";
  return isCut
    ? { status: "incomplete", incomplete: "max_output_tokens" }
    : { status: "completed", incomplete: null };
}

function toObject(frame: ResponseFrame, built: Built): object {
  const { place, createdAt, previous, background, format } = frame;
  const { status, output, usage, error, incomplete } = built;
  const ended = status !== "in_progress";
  return {
    id: toResponseId(place),
    object: "response",
    access_programs: null,
    created_at: createdAt,
    status,
    background,
    error:
      error === null || status === "cancelled"
        ? null
        : { code: error.code, message: error.message },
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: place.agent,
    output: output.filter((item) => item !== undefined),
    parallel_tool_calls: true,
    previous_response_id: previous,
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: true,
    temperature: null,
    text: { format: format === null ? { type: "text" } : { type: "json_schema", ...format } },
    tool_choice: "auto",
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: ended ? toResponseUsage(usage) : null,
    user: null,
  };
}
