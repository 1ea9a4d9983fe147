/** CrashClient: the public API as a client that outlives its server: it keeps asking, and takes up a stream where it was. */
import { setTimeout as pause } from "node:timers/promises";
import { SseParser } from "#client/sse.ts";
import type { EventView, RunView, ThreadView } from "#ports/thread-gateway.ts";
import type { Json, JsonObject } from "#shared/json.ts";

/** How often a waiting client knocks. */
const KNOCK_MS = 50;
const FINAL: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.cancelled"]);

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}
export interface Receipt {
  readonly runId: string;
  readonly seq: number;
  readonly stream: string;
}

/** What one client saw of one run, over all of its connections. */
export interface Following {
  readonly seqs: number[];
  /** Hashes of the events: what it was told can be found again. */
  readonly hashes: string[];
  /** What a reader that followed the live text and the answer disagree on; empty is right. */
  readonly mismatches: string[];
  /** Number of connections that delivered something. */
  connections: number;
  ended: string | null;
  /** When the first frame of the newest connection came, and the last event. */
  at: number;
}

export class CrashClient {
  readonly #url: string;
  readonly #key: string;
  readonly #agent: string;

  constructor(server: { readonly url: string; readonly key: string }, agent = "worker") {
    this.#url = server.url;
    this.#key = server.key;
    this.#agent = agent;
  }

  pathOf(thread: string): string {
    return pathOf(thread, this.#agent);
  }

  async call<T>(method: string, path: string, body?: Json): Promise<Answer<T>> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  async send(thread: string, text: string, messageId: string): Promise<Receipt> {
    const { status, body } = await this.call<Receipt & JsonObject>(
      "POST",
      `${this.pathOf(thread)}/messages`,
      {
        text,
        messageId,
      },
    );
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body;
  }

  view(thread: string): Promise<Answer<ThreadView>> {
    return this.call("GET", this.pathOf(thread));
  }

  async run(thread: string, runId: string): Promise<RunView> {
    return (await this.call<RunView>("GET", `${this.pathOf(thread)}/runs/${runId}`)).body;
  }

  async events(thread: string): Promise<readonly EventView[]> {
    const items: EventView[] = [];
    for (let after: number | null = 0; after !== null;) {
      const path = `${this.pathOf(thread)}/events?after=${after}&limit=200`;
      const page: Answer<{ items: EventView[]; next: number | null }> = await this.call(
        "GET",
        path,
      );
      if (page.status !== 200) throw new Error(`${page.status} ${JSON.stringify(page.body)}`);
      items.push(...page.body.items);
      after = page.body.next;
    }
    return items;
  }

  async export(thread: string): Promise<string> {
    const response = await fetch(`${this.#url}${this.pathOf(thread)}/export`, {
      headers: { authorization: `Bearer ${this.#key}` },
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.text();
  }

  /** Follows a run over kills and restarts, until it ends or `signal` says that enough is enough. */
  async follow(receipt: Receipt, following: Following, signal: AbortSignal): Promise<void> {
    let last: string | null = null;
    const text = new LiveTexts(following.mismatches);
    while (following.ended === null && !signal.aborted) {
      try {
        const response: Response = await fetch(`${this.#url}${receipt.stream}&deltas=1`, {
          signal,
          headers: {
            authorization: `Bearer ${this.#key}`,
            accept: "text/event-stream",
            ...(last === null ? {} : { "last-event-id": last }),
          },
        });
        if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
        let isFirst = true;
        text.connected();
        for await (const frame of framesOf(response.body)) {
          if (isFirst) following.connections += 1;
          isFirst = false;
          following.at = Date.now();
          if (frame.id !== null) last = frame.id;
          const data = JSON.parse(frame.data) as EventView & Delta;
          text.take(frame.event, data);
          if (frame.event !== "event") continue;
          following.seqs.push(data.header.seq);
          following.hashes.push(data.hash);
          if (FINAL.has(data.header.type) && data.header.run === receipt.runId)
            following.ended = data.header.type;
        }
      } catch {
        await pause(KNOCK_MS);
      }
    }
  }
}

async function* framesOf(body: ReadableStream<Uint8Array>) {
  const parser = new SseParser();
  for await (const text of body.pipeThrough(new TextDecoderStream())) yield* parser.push(text);
}

export function createFollowing(): Following {
  return { seqs: [], hashes: [], mismatches: [], connections: 0, ended: null, at: 0 };
}

export function pathOf(thread: string, agent = "worker"): string {
  return `/v1/agents/${agent}/threads/${thread}`;
}

interface Delta {
  readonly text: string;
}

/** Live text against the answer that follows it: all of it where the attempt was followed from its start. */
class LiveTexts {
  readonly #mismatches: string[];
  #text = "";
  #live = false;
  #followed = false;

  constructor(mismatches: string[]) {
    this.#mismatches = mismatches;
  }

  connected(): void {
    this.#live = false;
  }

  take(kind: string, data: EventView & Delta): void {
    if (kind === "caught_up") this.#live = true;
    else if (kind === "delta") this.#text += data.text;
    else if (kind === "discard") this.#begin(true);
    else if (data.header.type === "model.requested") this.#begin(this.#live);
    else if (data.header.type === "model.answered") this.#compare(data);
  }

  #begin(followed: boolean): void {
    this.#text = "";
    this.#followed = followed;
  }

  #compare({ header, payload }: EventView): void {
    const { parts } = payload as unknown as { parts: readonly { type: string; text?: string }[] };
    const stored = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const isWhole = this.#text === stored;
    // Where nothing of the attempt was followed live, its text comes with its event alone.
    if (isWhole || (!this.#followed && this.#text === "")) return;
    this.#mismatches.push(
      `step ${header.step}: ${JSON.stringify(this.#text)} is not ${JSON.stringify(stored)}`,
    );
  }
}
