/**
 * Chat Completions from a turn: chunks of a stream, or one completion; both say the same.
 *
 * P63 every data line is a chunk of one id, model and time; calls have an index; one finish reason, the optional usage, one
 * `[DONE]`. What goes wrong behind the headers is one line with an `error`, and no `[DONE]`: a short answer never looks whole.
 * A step's text that was begun again is sent on only where it says the same; JSON that was asked for is sent once it is checked.
 */
import type { TurnEnd, TurnItem, WaitingCall } from "#protocols/common/turn.ts";
import type { ThreadId } from "#shared/ids.ts";
import { CANCELLED, CUT_OFF, fromFailedRun, type OpenAiError, type Refused } from "./errors.ts";
import { toCallId } from "./ids.ts";
import { addUsage, NO_USAGE, toChatUsage, type Tokens } from "./usage.ts";

export interface ChatFrame {
  readonly id: string;
  readonly model: string;
  readonly thread: ThreadId;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly includeUsage: boolean;
  /** An answer of a given form is held back until it is known to have it. */
  readonly structured: boolean;
}
type FinishReason = "stop" | "length" | "content_filter" | "tool_calls";

export interface ToolCallWire {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Ended {
  readonly finish: FinishReason;
  /** What the end says beyond the texts of its steps. */
  readonly text: string;
  readonly calls: readonly ToolCallWire[];
}

export async function* toChunks(
  items: AsyncIterable<TurnItem>,
  frame: ChatFrame,
): AsyncGenerator<string, void, undefined> {
  const chunk = (delta: object, finish: FinishReason | null = null): string =>
    line(chunkOf(frame, [{ index: 0, delta, logprobs: null, finish_reason: finish }]));
  const said = new Said(frame.structured);
  let usage = NO_USAGE;
  yield chunk({ role: "assistant", content: "" });
  for await (const item of items) {
    if (item.type === "answered") usage = addUsage(usage, item.answer);
    const text = said.read(item);
    if (text === null) return yield line({ error: RESTARTED });
    if (text !== "") yield chunk({ content: text });
    if (item.type !== "end") continue;
    const ended = toEnded(item.end, frame);
    if (!ended.ok) return yield line({ error: ended.error });
    if (ended.text !== "") yield chunk({ content: ended.text });
    const calls = ended.calls.map((call, index) => ({ index, ...call }));
    if (calls.length > 0) yield chunk({ tool_calls: calls });
    yield chunk({}, ended.finish);
    if (frame.includeUsage) yield line({ ...chunkOf(frame, []), usage: toChatUsage(usage) });
    yield "data: [DONE]\n\n";
  }
}

export async function toCompletion(
  items: AsyncIterable<TurnItem>,
  frame: ChatFrame,
): Promise<{ readonly ok: true; readonly body: object } | ({ readonly ok: false } & Refused)> {
  // Nothing is sent before the end, so what was begun again is simply what was said last.
  const texts = new Map<number, string>();
  let usage: Tokens = NO_USAGE;
  for await (const item of items) {
    if (item.type === "answered") usage = addUsage(usage, item.answer);
    if (item.type === "text") texts.set(item.step, (texts.get(item.step) ?? "") + item.text);
    if (item.type === "discard") texts.delete(item.step);
    if (item.type !== "end") continue;
    const ended = toEnded(item.end, frame);
    if (!ended.ok) return { ok: false, ...refusedEnd(item.end, ended.error) };
    const spoken = frame.structured ? [] : [...texts.values()];
    const content = [...spoken, ended.text].filter((text) => text !== "").join(BETWEEN_STEPS);
    return { ok: true, body: completionOf(frame, { ...ended, content, usage }) };
  }
  return { ok: false, status: 502, error: CUT_OFF, retry: false };
}

const BETWEEN_STEPS = "\n\n";
const RESTARTED: OpenAiError = {
  message: "The model began its answer again. What was said so far is void.",
  type: "server_error",
  param: null,
  code: "answer_restarted",
};

/** What of each step was sent. */
class Said {
  readonly #held: boolean;
  #step = 0;
  #sent = "";
  #anything = false;
  /** Of a step that began again: what it says now, as far as it was sent before. */
  #again: string | null = null;

  constructor(held: boolean) {
    this.#held = held;
  }

  /** What to send now; null when it contradicts what was sent. */
  read(item: TurnItem): string | null {
    if (this.#held || (item.type !== "text" && item.type !== "discard")) return "";
    if (item.type === "discard") {
      if (item.step === this.#step) this.#again = "";
      return "";
    }
    if (item.step !== this.#step) return this.#begin(item.step, item.text);
    if (this.#again === null) return this.#send(item.text);
    const again = this.#again + item.text;
    if (again.length < this.#sent.length) {
      this.#again = again;
      return this.#sent.startsWith(again) ? "" : null;
    }
    if (!again.startsWith(this.#sent)) return null;
    this.#again = null;
    return this.#send(again.slice(this.#sent.length));
  }

  #begin(step: number, text: string): string {
    const separator = this.#anything ? BETWEEN_STEPS : "";
    this.#step = step;
    this.#sent = "";
    this.#again = null;
    return separator + this.#send(text);
  }

  #send(text: string): string {
    this.#anything = true;
    this.#sent += text;
    return text;
  }
}

function toEnded(
  end: TurnEnd,
  { thread, structured }: ChatFrame,
): ({ readonly ok: true } & Ended) | { readonly ok: false; readonly error: OpenAiError } {
  switch (end.type) {
    case "completed": {
      const { payload } = end;
      const text = structured && payload !== null ? outputText(payload.output, payload.text) : "";
      return { ok: true, finish: toFinish(payload?.finish), text, calls: [] };
    }
    case "waiting": {
      const other = end.calls.find(({ brought }) => !brought);
      if (other !== undefined) return { ok: false, error: needsPerson(other) };
      const calls = end.calls.map((call) => toToolCall(call, thread));
      return { ok: true, finish: "tool_calls", text: "", calls };
    }
    case "failed":
      return { ok: false, error: fromFailedRun(end.payload).error };
    case "cancelled":
      return { ok: false, error: CANCELLED };
    case "running":
    case "broken":
      return { ok: false, error: CUT_OFF };
  }
}

function outputText(output: unknown, text: string): string {
  return output === null ? text : JSON.stringify(output);
}

function refusedEnd(end: TurnEnd, error: OpenAiError): Refused {
  if (end.type === "failed") return fromFailedRun(end.payload);
  if (end.type === "waiting" || end.type === "cancelled")
    return { status: 409, error, retry: false };
  return { status: 502, error, retry: false };
}

/** Nobody can be asked through this protocol: the run waits on, and its thread's approvals decide. */
export function needsPerson({ name, approvalId }: WaitingCall): OpenAiError {
  return {
    message: `The call of ${name} waits for a person (approval ${approvalId}). Decide it over /v1; the run then goes on.`,
    type: "invalid_request_error",
    param: null,
    code: "approval_required",
  };
}

export function toToolCall(
  { approvalId, name, argsText }: WaitingCall,
  thread: ThreadId,
): ToolCallWire {
  return {
    id: toCallId({ thread, approvalId }),
    type: "function",
    function: { name, arguments: argsText },
  };
}

/** A limit that ended the run is a cut, whatever the model last said. */
function toFinish(finish: string | undefined): FinishReason {
  if (finish === "content_filter") return "content_filter";
  return finish === "length" || finish === "step_cap" || finish === "loop_guard"
    ? "length"
    : "stop";
}

function chunkOf({ id, model, created }: ChatFrame, choices: readonly object[]): object {
  return { id, object: "chat.completion.chunk", created, model, choices };
}

function completionOf(
  { id, model, created }: ChatFrame,
  said: {
    readonly finish: FinishReason;
    readonly content: string;
    readonly calls: readonly ToolCallWire[];
    readonly usage: Tokens;
  },
): object {
  const { finish, content, calls, usage } = said;
  const message = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: toChatUsage(usage),
  };
}

function line(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
