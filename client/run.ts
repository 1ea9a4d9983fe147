/** A run: its stream, its result, and its end. */
import type { AnswerPart } from "../src/kernel/events.ts";
import { HoldfastError } from "./errors.ts";
import type { CallOptions } from "./http.ts";
import type { StreamOptions } from "./stream.ts";
import type { ThreadClient } from "./thread.ts";
import type {
  AnyAgent,
  Approval,
  Decision,
  Explanation,
  LogItem,
  MessageReceipt,
  OutputOf,
  PageOptions,
  Receipt,
  Run,
  RunResult,
  StreamItem,
} from "./types.ts";

/** What a message asks its answer to be. `parse` is asked before a result is handed on, as `schema.parse` of zod. */
export interface OutputRequest<Output> {
  /** 1 to 64 of A-Z, a-z, 0-9, _ and -; providers are told it. */
  readonly name: string;
  /** JSON Schema. */
  readonly schema: object;
  readonly parse: (value: unknown) => Output;
}

export interface ResultOptions extends CallOptions {
  /** Asked for each call or question that waits for a person; null leaves it to somebody else. Without it, it is waited for. */
  readonly onApproval?: (approval: Approval) => Promise<Decision | null> | Decision | null;
}

export interface RunHandle<Output> {
  readonly runId: string;
  /** Of the message that began it, or null for a run that was looked up. */
  readonly receipt: MessageReceipt | null;
  readonly parse: ((value: unknown) => Output) | null;
}

export class RunClient<A extends AnyAgent, Output = OutputOf<A>> {
  readonly id: string;
  readonly receipt: MessageReceipt | null;
  readonly thread: ThreadClient<A>;
  readonly #parse: ((value: unknown) => Output) | null;

  constructor(thread: ThreadClient<A>, { runId, receipt, parse }: RunHandle<Output>) {
    this.id = runId;
    this.receipt = receipt;
    this.thread = thread;
    this.#parse = parse;
  }

  get(options: CallOptions = {}): Promise<Run> {
    return this.thread.http.json(`${this.thread.path}/runs/${this.id}`, options);
  }

  /**
   * This run to its end, behind the receipt of its message, or from its message on where it was looked up. Other runs of the
   * thread are left out.
   */
  async *stream(
    options: StreamOptions = {},
  ): AsyncGenerator<StreamItem<A, Output>, void, undefined> {
    const from = options.from ?? (await this.#begin(options));
    for await (const item of this.thread.stream({ ...options, from, until: this.id })) {
      const run = "header" in item ? item.header.run : "runId" in item ? item.runId : this.id;
      // The agent's own output is typed by the agent; this run's by what its message asked for.
      if (run === this.id) yield item as StreamItem<A, Output>;
    }
  }

  /**
   * The answer as far as it is written, whole each time: what was void after an interruption is gone from it, and what live
   * text lacks comes from the record.
   */
  async *text(options: StreamOptions = {}): AsyncGenerator<string, void, undefined> {
    let text = "";
    for await (const item of this.stream(options)) {
      const before = text;
      if (item.type === "delta") text += item.text;
      else if (item.type === "discard" || item.type === "model.requested") text = "";
      else if (item.type === "model.answered") text = answerOf(item.payload?.parts ?? []);
      if (text !== before && text !== "") yield text;
    }
  }

  /** Waits for the end, however long that takes and however often the connection is lost. A run that failed is a result. */
  async result(options: ResultOptions = {}): Promise<RunResult<Output>> {
    const { onApproval, ...call } = options;
    for await (const item of this.stream({ ...call, deltas: false })) {
      if (item.type === "approval.requested" && onApproval !== undefined)
        await this.#ask(item, onApproval, call);
    }
    return this.#toResult(await this.get(call));
  }

  /** As `result`, and throws unless the run completed. */
  async output(options: ResultOptions = {}): Promise<Output> {
    const result = await this.result(options);
    // A completed run's answer was checked against its schema by the server.
    if (result.status === "completed") return result.output as Output;
    const message = `The run has ${result.status}: ${result.message ?? result.reason ?? ""}`;
    throw new HoldfastError("run_not_active", message, { context: { run: result } });
  }

  cancel(options: CallOptions & { readonly reason?: string } = {}): Promise<Receipt> {
    const { reason, ...call } = options;
    const json = reason === undefined ? {} : { reason };
    const path = `${this.thread.path}/runs/${this.id}/cancel`;
    return this.thread.http.json(path, { ...call, method: "POST", json });
  }

  /** Why it did what it did, some steps at a time; `next` of the answer goes on. */
  explain(options: CallOptions & PageOptions<number> = {}): Promise<Explanation> {
    const { after, limit, ...call } = options;
    const path = `${this.thread.path}/runs/${this.id}/explain`;
    return this.thread.http.json(path, { ...call, query: { after, limit } });
  }

  /** A run that was looked up says itself where it begins. */
  async #begin(options: CallOptions): Promise<string> {
    if (this.receipt !== null) return String(this.receipt.seq);
    const { signal } = options;
    const { startSeq } = await this.get(signal === undefined ? {} : { signal });
    return String(Math.max(0, startSeq - 1));
  }

  async #ask(
    item: LogItem & { readonly type: "approval.requested" },
    onApproval: NonNullable<ResultOptions["onApproval"]>,
    call: CallOptions,
  ): Promise<void> {
    const approval = await this.thread.approval(item.header.id, call);
    if (approval.status !== "open") return;
    const decision = await onApproval(approval);
    if (decision !== null) await this.thread.decide(approval.approvalId, decision, call);
  }

  #toResult(run: Run): RunResult<Output> {
    if (run.status !== "completed" || this.#parse === null)
      return { ...run, output: run.output as Output | null };
    try {
      return { ...run, output: this.#parse(run.output) };
    } catch (cause) {
      const message = "The answer is not what `parse` of the request takes.";
      throw new HoldfastError("output_mismatch", message, { cause, context: { run: run.runId } });
    }
  }
}

function answerOf(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
