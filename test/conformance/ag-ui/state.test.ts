/** G06: a client's state, changed by a strict RFC 6902 library as the stream says, is the server's at the end. */
import { HttpAgent } from "@ag-ui/client";
import { applyPatch, type Operation } from "rfc6902";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json, JsonObject } from "#shared/json.ts";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

/** The case's own changes, from an empty state; a key may hold both characters that a pointer escapes. */
const CHANGES: readonly JsonObject[] = [
  { steps: [1] },
  { steps: [1], a: { b: 2 } },
  { a: { b: 2 } },
  { a: { b: 2 }, "k/x": 3, "~": 4 },
];
const LAST = CHANGES.at(-1)!;
/** Long enough for a test to come in between. */
const SLOWLY = "slow 60";

const headersOf = () => ({
  authorization: `Bearer ${server.key}`,
  "content-type": "application/json",
});
async function put(thread: string, state: Json): Promise<void> {
  const path = `/v1/agents/obeys/threads/${thread}/state`;
  const init = { method: "PUT", headers: headersOf(), body: JSON.stringify(state) };
  expect((await fetch(`${server.url}${path}`, init)).status).toBe(200);
}

interface Told {
  readonly id: string;
  readonly type: string;
  readonly event: JsonObject;
}
/** One stream, read as it comes, and the state that its reader has. */
class Reader {
  readonly told: Told[] = [];
  readonly run: string;
  state: Json;
  failed = 0;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(response: Response, state: Json = {}) {
    expect(response.status).toBe(200);
    this.state = state;
    this.run = response.headers.get("x-holdfast-run") ?? "";
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  async until(is: (told: Told) => boolean): Promise<this> {
    for (;;) {
      const told = await this.#next();
      if (told === null) throw new Error("the stream ended");
      if (is(told)) return this;
    }
  }

  async toEnd(): Promise<this> {
    while ((await this.#next()) !== null);
    return this;
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  get types(): readonly string[] {
    return this.told.map(({ type }) => type);
  }

  async #next(): Promise<Told | null> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        const event = JSON.parse(data) as JsonObject;
        const told = {
          id: /^id: (\S+)/m.exec(block)?.[1] ?? "",
          type: String(event["type"]),
          event,
        };
        this.told.push(told);
        this.#apply(event);
        return told;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#rest += value;
    }
  }

  #apply({ type, snapshot, delta }: JsonObject): void {
    if (type === "STATE_SNAPSHOT") this.state = structuredClone(snapshot as Json);
    if (type !== "STATE_DELTA") return;
    const failures = applyPatch(this.state, delta as unknown as Operation[]);
    this.failed += failures.filter((failure) => failure !== null).length;
  }
}

async function start(threadId: string): Promise<Response> {
  const messages = [{ id: crypto.randomUUID(), role: "user", content: SLOWLY }];
  const body = {
    threadId,
    runId: crypto.randomUUID(),
    messages,
    tools: [],
    context: [],
    state: {},
  };
  const init = { method: "POST", headers: headersOf(), body: JSON.stringify(body) };
  return fetch(`${server.url}/ag-ui/obeys`, init);
}
async function readAgain(thread: string, run: string, lastId?: string): Promise<Response> {
  const last = lastId === undefined ? {} : { "last-event-id": lastId };
  const headers = { ...headersOf(), ...last };
  return fetch(`${server.url}/ag-ui/obeys/${thread}/runs/${run}`, { headers });
}
const isText = ({ type }: Told): boolean => type === "TEXT_MESSAGE_CONTENT";
const isState = ({ type }: Told): boolean => type.startsWith("STATE_");

describe("G06 changes of state", () => {
  it("[P73] G06 from the first event of a run: each applies, and the client ends with the server's state", async () => {
    const reader = await new Reader(await start("g06-first")).until(isText);
    for (const state of CHANGES) await put("g06-first", state);
    await reader.toEnd();
    expect(reader.failed).toBe(0);
    expect(reader.state).toEqual(LAST);
    expect(reader.told.filter(isState).length).toBeGreaterThanOrEqual(CHANGES.length);
    // What is told first is whole: there is nothing yet that a change could apply to.
    expect(reader.told.find(isState)?.type).toBe("STATE_SNAPSHOT");
    const pointers = reader.told.flatMap(({ event }) =>
      event["type"] === "STATE_DELTA"
        ? (event["delta"] as unknown as Operation[]).map(({ path }) => path)
        : [],
    );
    expect(pointers).toEqual(expect.arrayContaining(["/k~1x", "/~0"]));
    expect(reader.types.at(-1)).toBe("RUN_FINISHED");
    // In the next run the whole state comes before anything else is told of it.
    const next = await new Reader(await start("g06-first"), { stale: true }).toEnd();
    expect(next.types.slice(0, 2)).toEqual(["RUN_STARTED", "STATE_SNAPSHOT"]);
    expect(next.state).toEqual(LAST);
  });

  it("[P73] G06 a client that comes back is told the next change whole, whatever it missed or made of the last", async () => {
    const thread = "g06-missed";
    const first = await new Reader(await start(thread)).until(isText);
    await put(thread, CHANGES[0]!);
    await first.until(isState);
    const lastId = first.told.at(-1)?.id ?? "";
    await first.leave();
    for (const state of CHANGES.slice(1, 3)) await put(thread, state);
    const again = new Reader(await readAgain(thread, first.run, lastId), { lost: "all of it" });
    await again.until(isState);
    expect(again.told.at(-1)?.type).toBe("STATE_SNAPSHOT");
    await put(thread, LAST);
    await again.toEnd();
    expect([again.failed, again.state]).toEqual([0, LAST]);
    expect(again.types.at(-1)).toBe("RUN_FINISHED");
  });

  it("[P73] G06 two clients, one of them late: both end with the server's state", async () => {
    const thread = "g06-two";
    const early = await new Reader(await start(thread)).until(isText);
    for (const state of CHANGES.slice(0, 3)) await put(thread, state);
    const late = await new Reader(await readAgain(thread, early.run)).until(isText);
    await put(thread, LAST);
    await Promise.all([early.toEnd(), late.toEnd()]);
    for (const reader of [early, late]) {
      expect([reader.failed, reader.state]).toEqual([0, LAST]);
      expect(reader.types.at(-1)).toBe("RUN_FINISHED");
    }
  });

  it("[P71] [P73] G06 the end of the run reaches a consumer whose state the changes do not fit", async () => {
    const thread = "g06-broken";
    const reader = await new Reader(await start(thread)).until(isText);
    await put(thread, { steps: [1, 2], kept: true });
    await reader.until(isState);
    // It loses what the next change is about.
    reader.state = {};
    await put(thread, { steps: [1, 2, 3] });
    await reader.toEnd();
    expect(reader.failed).toBeGreaterThan(0);
    expect(reader.types.filter((type) => type === "RUN_FINISHED")).toHaveLength(1);
  });

  it("[P73] G06 the published client keeps up without a patch that fails", async () => {
    const threadId = "g06-published";
    const headers = { authorization: `Bearer ${server.key}` };
    const agent = new HttpAgent({ url: `${server.url}/ag-ui/obeys`, threadId, headers });
    agent.addMessage({ id: "m1", role: "user", content: SLOWLY });
    const types: string[] = [];
    const run = agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) });
    await expect.poll(() => types.includes("TEXT_MESSAGE_CONTENT"), { timeout: 10_000 }).toBe(true);
    for (const state of CHANGES) await put(threadId, state);
    await run;
    expect(agent.state).toEqual(LAST);
    expect(types.at(-1)).toBe("RUN_FINISHED");
  });
});
