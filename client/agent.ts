/** One agent: its description and its conversations. */
import type { CallOptions, Http, WriteOptions } from "./http.ts";
import { ThreadClient } from "./thread.ts";
import type { AnyAgent, Page, PageOptions, Thread, ThreadItem } from "./types.ts";

export class AgentClient<A extends AnyAgent> {
  readonly name: string;
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, name: string) {
    this.name = name;
    this.#http = http;
    this.#path = `/agents/${encodeURIComponent(name)}/threads`;
  }

  /** A conversation by its id; nothing is asked yet, and the first message makes it. Default: a new one. */
  thread(id: string = `thr-${crypto.randomUUID()}`): ThreadClient<A> {
    return new ThreadClient(this.#http, { agent: this.name, thread: id });
  }

  /** Makes a conversation before its first message: for a title, or for files. One that is yours already is answered as it is. */
  async createThread(
    options: WriteOptions & { readonly id?: string; readonly title?: string } = {},
  ): Promise<ThreadClient<A>> {
    const { id, title, ...write } = options;
    const request = { ...write, method: "POST", json: { id, title } } as const;
    return this.thread((await this.#http.json<Thread>(this.#path, request)).thread);
  }

  /** Newest first. */
  threads(options: CallOptions & PageOptions<string> = {}): Promise<Page<ThreadItem, string>> {
    const { after, limit, ...call } = options;
    return this.#http.json(this.#path, { ...call, query: { after, limit } });
  }
}
