/**
 * ChatStream: the answer of one run as a UI message stream to one reader: `cf_agent_use_chat_response` frames, each
 * with one chunk of the AI SDK's protocol.
 *
 * P27 the text parts of a stream add up to the recorded answer: a discarded attempt ends the stream (`recovering`), so
 * that nobody sees a text twice. P28 nothing follows the frame with `done`.
 */
import type { AnswerPart, ThreadEvents } from "#kernel/events.ts";
import type { ChatStream, StreamOutcome, StreamStart } from "#ports/socket-protocol.ts";
import type { EventView, StreamFrame } from "#ports/thread-gateway.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { FRAME } from "./wire.ts";
import { isDenial, toOutput } from "./ui-messages.ts";

type Chunk = JsonObject & { readonly type: string };
type PayloadOf<T extends keyof ThreadEvents> = ThreadEvents[T];

const FINISH_REASONS: { readonly [finish: string]: string } = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
};

export function openChatStream(start: StreamStart): ChatStream {
  return new UiStream(start);
}

class UiStream implements ChatStream {
  readonly id: string;
  readonly runId: string;
  readonly #continuation: boolean;
  #replaying: boolean;
  #started = false;
  #inStep = false;
  /** Id of the text part that deltas go to, or null. */
  #textPart: string | null = null;
  /** The open attempt's text went out as it came. */
  #sawText = false;
  #ended = false;
  #seq = 0;

  constructor({ id, runId, replay, continuation }: StreamStart) {
    this.id = id;
    this.runId = runId;
    this.#replaying = replay;
    this.#continuation = continuation;
  }

  get showsPartialText(): boolean {
    return this.#sawText;
  }

  push(frame: StreamFrame): readonly string[] {
    if (this.#ended) return [];
    if (frame.type === "caught_up") return this.#caughtUp();
    if (frame.type === "delta") {
      if (frame.runId !== this.runId) return [];
      return this.#chunks(this.#text(`${frame.step}.${frame.cursor.attempt}`, frame.text));
    }
    if (frame.type === "discard" || frame.event.header.run !== this.runId) return [];
    return this.#event(frame.event);
  }

  end(outcome: StreamOutcome): readonly string[] {
    if (this.#ended) return [];
    const chunks: Chunk[] = [...this.#closeText()];
    if (outcome === "aborted") chunks.push({ type: "abort" });
    else if (outcome === "completed") chunks.push(...this.#closeStep(), { type: "finish" });
    return [...this.#chunks(chunks), this.#done(outcome)];
  }

  #event(event: EventView): readonly string[] {
    switch (event.header.type) {
      case "run.completed":
        return this.#completed(event);
      case "run.cancelled":
        return this.end("aborted");
      case "run.failed": {
        const payload = payloadOf<"run.failed">(event);
        const shown = this.#chunks(this.#closeText());
        return [...shown, this.#failed(payload?.message ?? "The run failed.")];
      }
      default:
        return this.#chunks(this.#toChunks(event));
    }
  }

  #toChunks(event: EventView): readonly Chunk[] {
    const { type, call, attempt, id } = event.header;
    const toolCallId = call ?? "";
    switch (type) {
      case "model.requested":
        return attempt === 1 || !this.#inStep ? this.#openStep() : [];
      case "model.answered":
        return this.#answered(payloadOf<"model.answered">(event)?.parts ?? [], id);
      case "model.failed":
      case "model.interrupted":
        return this.#closeText();
      case "tool.finished": {
        const result = payloadOf<"tool.finished">(event)?.result;
        return [toResultChunk(toolCallId, result ?? { status: "error", output: "erased" })];
      }
      case "tool.refused": {
        const refusal = payloadOf<"tool.refused">(event)?.refusal;
        if (isDenial(refusal?.code)) return [{ type: "tool-output-denied", toolCallId }];
        const errorText = refusal?.message ?? "The call was refused.";
        return [{ type: "tool-output-error", toolCallId, errorText }];
      }
      case "approval.requested":
        return payloadOf<"approval.requested">(event)?.kind === "tool"
          ? [{ type: "tool-approval-request", approvalId: id, toolCallId }]
          : [];
      default:
        return [];
    }
  }

  #answered(parts: readonly AnswerPart[], eventId: string): readonly Chunk[] {
    const shown = this.#sawText;
    const chunks: Chunk[] = [...this.#closeText()];
    this.#sawText = false;
    parts.forEach((part, index) => {
      const id = `${eventId}.${index}`;
      if (part.type === "call") chunks.push(toCallChunk(part));
      else if (part.text !== "" && !(part.type === "text" && shown)) {
        const { type, text } = part;
        chunks.push(
          { type: `${type}-start`, id },
          { type: `${type}-delta`, id, delta: text },
          { type: `${type}-end`, id },
        );
      }
    });
    return chunks;
  }

  #text(part: string, delta: string): readonly Chunk[] {
    this.#sawText = true;
    const opened: Chunk[] = this.#inStep ? [] : [...this.#openStep()];
    if (this.#textPart !== part) {
      opened.push(...this.#closeText(), { type: "text-start", id: part });
      this.#textPart = part;
    }
    return [...opened, { type: "text-delta", id: part, delta }];
  }

  #closeText(): readonly Chunk[] {
    const id = this.#textPart;
    this.#textPart = null;
    return id === null ? [] : [{ type: "text-end", id }];
  }

  #openStep(): readonly Chunk[] {
    const closed = this.#closeStep();
    this.#inStep = true;
    return [...closed, { type: "start-step" }];
  }

  #closeStep(): readonly Chunk[] {
    if (!this.#inStep) return [];
    this.#inStep = false;
    return [{ type: "finish-step" }];
  }

  #completed(event: EventView): readonly string[] {
    const { finish, loop } = payloadOf<"run.completed">(event) ?? { finish: "stop" };
    const finishReason = FINISH_REASONS[finish] ?? "other";
    const metadata = {
      runId: this.runId,
      finish,
      ...(loop === undefined ? {} : { loop: { ...loop } }),
    };
    const chunks = [
      ...this.#closeText(),
      ...this.#closeStep(),
      { type: "finish", finishReason, messageMetadata: metadata },
    ];
    return [...this.#chunks(chunks), this.#done("completed")];
  }

  #chunks(chunks: readonly Chunk[]): readonly string[] {
    if (chunks.length === 0) return [];
    const start: readonly Chunk[] = this.#started ? [] : [{ type: "start", messageId: this.runId }];
    this.#started = true;
    return [...start, ...chunks].map((chunk) =>
      this.#frame({ body: JSON.stringify(chunk), done: false, seq: this.#seq++ }),
    );
  }

  #caughtUp(): readonly string[] {
    if (!this.#replaying) return [];
    const replayed = this.#frame({ body: "", done: false, replayComplete: true });
    this.#replaying = false;
    return [replayed];
  }

  #done(outcome: StreamOutcome): string {
    this.#ended = true;
    return this.#frame({ body: "", done: true, outcome });
  }

  #failed(message: string): string {
    this.#ended = true;
    return this.#frame({ body: message, done: true, error: true, outcome: "error" });
  }

  #frame(fields: { readonly [field: string]: Json }): string {
    return JSON.stringify({
      type: FRAME.response,
      id: this.id,
      ...fields,
      ...(this.#replaying ? { replay: true } : {}),
      ...(this.#continuation ? { continuation: true } : {}),
    });
  }
}

/** Payloads of an event view are what the catalogue says of its type, or null once erased. */
function payloadOf<T extends keyof ThreadEvents>(event: EventView): PayloadOf<T> | null {
  return event.payload as unknown as PayloadOf<T> | null;
}

function toCallChunk({ callId, name, args, refusal }: AnswerPart & { type: "call" }): Chunk {
  const call = { toolCallId: callId, toolName: name };
  return args === null && refusal !== null
    ? { type: "tool-input-error", ...call, input: {}, errorText: refusal.message }
    : { type: "tool-input-available", ...call, input: args ?? {} };
}

function toResultChunk(
  toolCallId: string,
  { status, output }: { readonly status: string; readonly output: string },
): Chunk {
  return status === "ok"
    ? { type: "tool-output-available", toolCallId, output: toOutput(output) }
    : { type: "tool-output-error", toolCallId, errorText: output };
}
