/**
 * Outside: what a crash of the server must not fool: a model provider and an effect system on 127.0.0.1, in the process
 * of the test, so that their counts survive every kill.
 *
 * The provider answers from the history it is sent alone, so the same prompt has the same answer
 * whoever asks and however often (./crash-script.ts). Every moment can be awaited, and be held open so that a kill falls inside of it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { chatHistoryProblem } from "./provider-shapes/chat-history.ts";
import { toChunks, type ChunkFrame } from "./provider-stub.ts";
import { nameIn, script as crashScript } from "./crash-script.ts";

/**
 * `next` before a step's intent is recorded; `asked` when a model or tool call arrives; `stream` within an answer;
 * `done` when the effect has happened or the last frame is about to leave.
 */
export type Point = "next" | "asked" | "stream" | "done";
export interface Moment {
  readonly run: string;
  readonly step: number;
  /** A tool's name, `check` for the question of a reconcile tool, or `model`. */
  readonly what: string;
  readonly point: Point;
  /** Idempotency key of an effect. */
  readonly key: string | null;
  readonly at: number;
}
type Match = (moment: Moment) => boolean;

/** What the model of one suite says, and what its tools find outside besides counted effects. */
export interface Play {
  /** Answer of one step. Arguments are run and step where none are given. */
  script(
    run: string,
    step: number,
  ): {
    readonly text: readonly string[];
    readonly calls: readonly { readonly tool: string; readonly args?: JsonObject }[];
  };
  /** A request to `/desk`: who asks for what, and the work, which is done unless the client is gone by then. */
  desk?(body: JsonObject): {
    readonly run: string;
    readonly what: string;
    readonly key: string | null;
    work(): Json;
  };
}

interface Hold {
  readonly match: Match;
  readonly every: boolean;
  readonly open: Promise<void>;
}

/** How slow the outside is: a kill at a random moment is to find calls open. */
const PAUSE_MS = 2;

export class Outside implements AsyncDisposable {
  readonly moments: Moment[] = [];
  /** Bodies of model requests by run, in order of arrival. */
  readonly prompts = new Map<string, JsonObject[]>();
  /** Histories that a real provider would have refused. */
  readonly refused: string[] = [];
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  readonly #effects = new Map<string, number>();
  readonly #watchers = new Set<() => void>();
  #holds: readonly Hold[] = [];
  readonly #play: Play;
  #url = "";

  constructor(play: Play) {
    this.#play = play;
  }

  static async start(play: Play = { script: crashScript }): Promise<Outside> {
    const outside = new Outside(play);
    await new Promise<void>((resolve) => outside.#server.listen(0, "127.0.0.1", resolve));
    const { port } = outside.#server.address() as AddressInfo;
    outside.#url = `http://127.0.0.1:${port}`;
    return outside;
  }

  /** Variables of the Worker under test. */
  get vars(): readonly string[] {
    return [
      "HOLDFAST_MODEL:openai-compatible/script",
      `HOLDFAST_MODEL_BASE_URL:${this.#url}/v1`,
      `OUTSIDE_URL:${this.#url}`,
    ];
  }

  /** How often the effect of this key has happened. */
  effects(key: string): number {
    return this.#effects.get(key) ?? 0;
  }

  of(run: string): readonly Moment[] {
    return this.moments.filter((moment) => moment.run === run);
  }

  /**
   * The first matching moment, or each one, stays open until the answer is called. One whose client is gone by then does
   * not happen.
   */
  hold(match: Match, { every = false } = {}): () => void {
    let release = (): void => undefined;
    const open = new Promise<void>((resolve) => (release = resolve));
    const entry: Hold = { match, every, open };
    this.#holds = [...this.#holds, entry];
    return () => {
      this.#holds = this.#holds.filter((each) => each !== entry);
      release();
    };
  }

  /** The `nth` matching moment, also one that has been. */
  async reached(match: Match, { nth = 1, timeoutMs = 60_000 } = {}): Promise<Moment> {
    const timeout = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = this.moments.filter(match)[nth - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve, reject) => {
        const watch = (): void => {
          this.#watchers.delete(watch);
          resolve();
        };
        this.#watchers.add(watch);
        timeout.addEventListener("abort", () =>
          reject(new Error(`nothing of the kind came within ${timeoutMs} ms`)),
        );
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new Promise<void>((resolve) => response.once("close", resolve));
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Uint8Array);
    } catch {
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
    const path = request.url ?? "";
    /** False when the client has gone: nothing happens for it any more. */
    const pass = async (moment: Moment): Promise<boolean> => {
      const hold = this.#take(moment);
      this.moments.push(moment);
      for (const watch of this.#watchers) watch();
      if (hold !== null) await Promise.race([hold.open, gone]);
      return !response.destroyed;
    };
    if (path === "/v1/chat/completions") await this.#complete(body, response, pass);
    else if (path === "/desk") await this.#serve(body, response, pass);
    else await this.#act(path.slice(1), body, response, pass);
  }

  #take(moment: Moment): Hold | null {
    const hold = this.#holds.find(({ match }) => match(moment));
    if (hold === undefined) return null;
    if (!hold.every) this.#holds = this.#holds.filter((each) => each !== hold);
    return hold;
  }

  async #complete(
    body: JsonObject,
    response: ServerResponse,
    pass: (moment: Moment) => Promise<boolean>,
  ): Promise<void> {
    const messages = body["messages"] ?? null;
    const problem = chatHistoryProblem(messages);
    if (problem !== null) {
      this.refused.push(problem);
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: problem } }));
      return;
    }
    const { run, step } = positionOf(messages);
    this.prompts.set(run, [...(this.prompts.get(run) ?? []), body]);
    const moment = (point: Point): Moment => ({
      run,
      step,
      what: "model",
      point,
      key: null,
      at: Date.now(),
    });
    if (!(await pass(moment("asked")))) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const frames = toFrames(this.#play.script(run, step), { run, step });
    const middle = Math.floor(frames.length / 2);
    let calls = 0;
    for (const [index, frame] of frames.entries()) {
      if (index === middle && !(await pass(moment("stream")))) return;
      for (const chunk of toChunks(frame, calls))
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      if ("call" in frame) calls += 1;
      await pause(PAUSE_MS);
    }
    if (await pass(moment("done"))) response.end("data: [DONE]\n\n");
  }

  async #serve(
    body: JsonObject,
    response: ServerResponse,
    pass: (moment: Moment) => Promise<boolean>,
  ): Promise<void> {
    const asked = this.#play.desk?.(body);
    if (asked === undefined) return void response.writeHead(404).end();
    const { run, what, key } = asked;
    const moment = (point: Point): Moment => ({ run, step: 0, what, point, key, at: Date.now() });
    if (!(await pass(moment("asked")))) return;
    await pause(PAUSE_MS);
    const reply = asked.work();
    if (await pass(moment("done"))) response.end(JSON.stringify(reply));
  }

  async #act(
    what: string,
    body: JsonObject,
    response: ServerResponse,
    pass: (moment: Moment) => Promise<boolean>,
  ): Promise<void> {
    const run = String(body["run"]);
    const step = Number(body["step"]);
    const key = typeof body["key"] === "string" ? body["key"] : null;
    const moment = (point: Point): Moment => ({ run, step, what, point, key, at: Date.now() });
    const reply = (value: Json): void => void response.end(JSON.stringify(value));
    if (what === "next") {
      if (await pass({ ...moment("next"), what: "model" })) reply({});
      return;
    }
    if (!(await pass(moment("asked")))) return;
    await pause(PAUSE_MS);
    if (what === "check") return reply({ happened: this.effects(key ?? "") > 0 });
    if (key !== null) this.#effects.set(key, this.effects(key) + 1);
    if (await pass(moment("done"))) reply({});
  }
}

/** The newest user message names the run; the answers since then count its steps. */
function positionOf(messages: Json): { readonly run: string; readonly step: number } {
  const list = Array.isArray(messages) ? (messages as readonly Json[]).filter(isJsonObject) : [];
  const start = list.findLastIndex((message) => message["role"] === "user");
  const step = list.slice(start).filter((message) => message["role"] === "assistant").length + 1;
  return { run: nameIn(JSON.stringify(list[start] ?? null)), step };
}

function toFrames(
  { text, calls }: ReturnType<Play["script"]>,
  { run, step }: { readonly run: string; readonly step: number },
): readonly ChunkFrame[] {
  return [
    ...text.map((piece) => ({ text: piece })),
    ...calls.map(({ tool, args }, index) => ({
      call: { id: `c${step}_${index}`, name: tool, args: JSON.stringify(args ?? { run, step }) },
    })),
    { finish: calls.length > 0 ? "tool_calls" : "stop" },
    { usage: { input: 100, output: 10 } },
  ];
}
