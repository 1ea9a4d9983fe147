/** ThreadClient: one thread through the public API, with the reads that most tests want. */
import type { ThreadEventType } from "#kernel/events.ts";
import type { EventView, MessageView, Page, RunView } from "#ports/thread-gateway.ts";
import { fromUtf8, type Json } from "#shared/json.ts";
import { threadPath, type Api } from "./api.ts";
import { exportFault } from "./export-fault.ts";
import { SseReader } from "./sse-reader.ts";

export type Payload = { readonly [key: string]: Json };

export class ThreadClient {
  readonly api: Api;
  readonly path: string;

  constructor(api: Api, agent: string, thread: string) {
    this.api = api;
    this.path = threadPath(agent, thread);
  }

  /** The same thread, asked by another. */
  as(api: Api): ThreadClient {
    const [, , , agent = "", , thread = ""] = this.path.split("/");
    return new ThreadClient(api, agent, thread);
  }

  send(text: string, more: Record<string, Json> = {}): Promise<string> {
    return this.api.send(this.path, text, more);
  }
  ended(runId: string): Promise<RunView> {
    return this.api.ended(this.path, runId);
  }
  async ask(text: string): Promise<RunView> {
    return this.ended(await this.send(text));
  }

  async events(): Promise<readonly EventView[]> {
    const events: EventView[] = [];
    for (let after: number | null = 0; after !== null;) {
      const page: Page<EventView> = await this.#get(`/events?limit=200&after=${after}`);
      events.push(...page.items);
      after = page.next;
    }
    return events;
  }
  async of(type: ThreadEventType): Promise<readonly (EventView & { readonly payload: Payload })[]> {
    const events = await this.events();
    return events.filter((event) => event.header.type === type) as readonly (EventView & {
      readonly payload: Payload;
    })[];
  }
  async messages(): Promise<readonly MessageView[]> {
    return (await this.#get<Page<MessageView>>("/messages?limit=200")).items;
  }
  /** Null where there is none. */
  async file(path: string): Promise<Uint8Array | null> {
    const response = await this.api.fetch("GET", `${this.path}/files/${path}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.status !== 200 && response.status !== 404)
      throw new Error(`file: ${response.status}`);
    return response.status === 200 ? bytes : null;
  }
  async text(path: string): Promise<string | null> {
    const bytes = await this.file(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }
  async writeFile(path: string, content: string): Promise<void> {
    const response = await this.api.fetch("PUT", `${this.path}/files/${path}`, { body: content });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  }
  async export(): Promise<string> {
    const response = await this.api.fetch("GET", `${this.path}/export`);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return fromUtf8(new Uint8Array(await response.arrayBuffer()));
  }
  /** Null when the exported log verifies by itself. */
  async chainFault(): Promise<string | null> {
    return exportFault(await this.export());
  }
  /** Everything from the beginning, to the end of `runId` where one is given. */
  stream(runId?: string, lastId?: string): Promise<SseReader> {
    const query = runId === undefined ? "" : `?run=${runId}`;
    return SseReader.open(this.api, `${this.path}/events${query}`, lastId ?? "0.0.0");
  }

  async #get<T>(path: string): Promise<T> {
    const reply = await this.api.json<T>("GET", this.path + path);
    if (reply.status !== 200) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  }
}
