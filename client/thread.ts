/** One conversation of an agent: messages and their runs, approvals, its log and its branches. */
import { FilesClient } from "./files.ts";
import { HoldfastError } from "./errors.ts";
import { SchedulesClient } from "./schedules.ts";
import type { CallOptions, Http, Query, WriteOptions } from "./http.ts";
import { RunClient, type OutputRequest } from "./run.ts";
import { follow, type StreamOptions } from "./stream.ts";
import type {
  AnyAgent,
  Approval,
  Branch,
  Decision,
  Delivery,
  Erasure,
  Message,
  MessageReceipt,
  OutputOf,
  Page,
  PageOptions,
  Receipt,
  RecordedEvent,
  Run,
  StreamItem,
  Thread,
  Verification,
} from "./types.ts";

export interface SendOptions<Output> extends WriteOptions {
  /** While a run is active. Default `queue`. */
  readonly delivery?: Delivery;
  readonly output?: OutputRequest<Output>;
  /** Your own id of the message: the same again is the same message. */
  readonly messageId?: string;
}

export class ThreadClient<A extends AnyAgent> {
  readonly id: string;
  readonly agent: string;
  readonly files: FilesClient;
  readonly schedules: SchedulesClient;
  /** For the other clients of this folder. */
  readonly http: Http;
  readonly path: string;

  constructor(http: Http, place: { readonly agent: string; readonly thread: string }) {
    this.id = place.thread;
    this.agent = place.agent;
    this.http = http;
    this.path = `/agents/${encodeURIComponent(place.agent)}/threads/${encodeURIComponent(place.thread)}`;
    this.files = new FilesClient(http, this.path);
    this.schedules = new SchedulesClient(http, this.path);
  }

  get(options: CallOptions = {}): Promise<Thread> {
    return this.http.json(this.path, options);
  }

  /** Durable when this resolves. A thread that is not there yet is made. */
  async send<Output = OutputOf<A>>(
    text: string,
    options: SendOptions<Output> = {},
  ): Promise<RunClient<A, Output>> {
    const { delivery, output, messageId, ...write } = options;
    const asked = output === undefined ? null : { name: output.name, schema: output.schema };
    const receipt = await this.#post<MessageReceipt>("/messages", {
      ...write,
      json: { text, delivery, messageId, output: asked },
    });
    return this.#begun(receipt, output?.parse ?? null);
  }

  /** Another answer to a message, in a branch of its own. */
  async regenerate(messageId: string, options: WriteOptions = {}): Promise<RunClient<A>> {
    const path = `/messages/${encodeURIComponent(messageId)}/regenerate`;
    return this.#begun(await this.#post<MessageReceipt>(path, options), null);
  }

  /** Another text of a message, answered in a branch of its own. */
  async edit(messageId: string, text: string, options: WriteOptions = {}): Promise<RunClient<A>> {
    const path = `/messages/${encodeURIComponent(messageId)}/edit`;
    return this.#begun(
      await this.#post<MessageReceipt>(path, { ...options, json: { text } }),
      null,
    );
  }

  /** A run by its id; nothing is asked yet. */
  run(runId: string): RunClient<A> {
    return new RunClient(this, { runId, receipt: null, parse: null });
  }

  /** Oldest first, as every list of a thread. */
  runs(options: CallOptions & PageOptions<number> = {}): Promise<Page<Run, number>> {
    const { signal, ...query } = options;
    return this.#page("/runs", query, signal);
  }

  messages(
    options: CallOptions & PageOptions<number> & { readonly branch?: string } = {},
  ): Promise<Page<Message, number>> {
    const { signal, ...query } = options;
    return this.#page("/messages", query, signal);
  }

  /** The log as it is stored. */
  events(options: CallOptions & PageOptions<number> = {}): Promise<Page<RecordedEvent, number>> {
    const { signal, ...query } = options;
    return this.#page("/events", query, signal);
  }

  /** The log and live text from a position on, then live. `until` ends it with that run; without it, it goes on for ever. */
  async *stream(
    options: StreamOptions & { readonly until?: string } = {},
  ): AsyncGenerator<StreamItem<A>, void, undefined> {
    const { until: runId = null, ...stream } = options;
    const path = `${this.path}/events`;
    const hasEnded = async (): Promise<boolean> =>
      runId !== null && (await this.run(runId).get()).endedAt !== null;
    // The server's events are those of the agent that its type describes.
    for await (const item of follow(this.http, { ...stream, path, runId, hasEnded }))
      yield item as StreamItem<A>;
  }

  approvals(
    options: CallOptions & PageOptions<number> & { readonly state?: "open" | "all" } = {},
  ): Promise<Page<Approval, number>> {
    const { signal, ...query } = options;
    return this.#page("/approvals", query, signal);
  }

  approval(approvalId: string, options: CallOptions = {}): Promise<Approval> {
    return this.http.json(`${this.path}/approvals/${encodeURIComponent(approvalId)}`, options);
  }

  /** Decided once: a later attempt fails as `approval_already_decided`, with the decision and who made it in `context`. */
  decide(approvalId: string, decision: Decision, options: WriteOptions = {}): Promise<Approval> {
    const path = `/approvals/${encodeURIComponent(approvalId)}/decision`;
    return this.#post(path, { ...options, json: decision });
  }

  /** State that client and agent share. */
  putState(state: unknown, options: WriteOptions = {}): Promise<Receipt> {
    return this.http.json(`${this.path}/state`, { ...options, method: "PUT", json: state });
  }

  async branches(options: CallOptions = {}): Promise<readonly Branch[]> {
    const path = `${this.path}/branches`;
    return (await this.http.json<{ items: readonly Branch[] }>(path, options)).items;
  }

  selectBranch(branch: string, options: WriteOptions = {}): Promise<Receipt> {
    return this.#post(`/branches/${encodeURIComponent(branch)}/select`, options);
  }

  /** Begins with an empty window; files and log stay. */
  clear(options: WriteOptions = {}): Promise<Receipt> {
    return this.#post("/clear", options);
  }

  /** An operator's stop. */
  halt(options: WriteOptions & { readonly reason?: string } = {}): Promise<Receipt> {
    const { reason, ...write } = options;
    return this.#post("/halt", { ...write, json: { reason } });
  }

  resume(options: WriteOptions = {}): Promise<Receipt> {
    return this.#post("/resume", { ...options, json: {} });
  }

  /** Forgets all content, for good. `erasing`: it goes on by itself. Runs that are live are refused, or cancelled. */
  erase(options: WriteOptions & { readonly live?: "refuse" | "cancel" } = {}): Promise<Erasure> {
    const { live, ...write } = options;
    return this.#post("/erase", { ...write, json: { live } });
  }

  /** Checks the chain and its signed heads, part by part; `next` of the answer goes on. */
  verify(options: CallOptions & { readonly after?: number } = {}): Promise<Verification> {
    const { after, ...call } = options;
    return this.http.json(`${this.path}/verify`, { ...call, query: { after } });
  }

  #begun<Output>(
    receipt: MessageReceipt,
    parse: ((value: unknown) => Output) | null,
  ): RunClient<A, Output> {
    const { runId } = receipt;
    if (runId === null) throw new HoldfastError("invalid_response", "A message has a run.");
    return new RunClient(this, { runId, receipt, parse });
  }

  #post<T>(path: string, request: WriteOptions & { readonly json?: unknown }): Promise<T> {
    return this.http.json(this.path + path, { ...request, method: "POST" });
  }

  #page<T>(path: string, query: Query, signal?: AbortSignal): Promise<Page<T, number>> {
    return this.http.json(this.path + path, signal === undefined ? { query } : { query, signal });
  }
}
