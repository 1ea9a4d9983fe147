/**
 * A fetch port whose answers a test writes down, one for each request in order, with a wait port that takes no time: what
 * was asked and how long it would have been waited for is kept.
 */
import type { FetchPort, WaitPort } from "#client/http.ts";

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: BodyInit | null;
}
/** Of one request: its answer, or how it fails; `hang` answers never. */
export type Step = Response | Error | "hang";
/** Half of the client's `stallMs`: what its watch waits for, as against a pause between attempts. */
const STALL_MS = 90_000;

export function scripted(steps: readonly Step[]) {
  const left = [...steps];
  const asked: Asked[] = [];
  const pauses: number[] = [];
  const watches: (() => void)[] = [];
  const fetch: FetchPort = async (url, init) => {
    const { method = "GET", body = null, signal } = init;
    asked.push({ method, url, headers: new Headers(init.headers), body });
    signal?.throwIfAborted();
    const step = left.shift();
    if (step === undefined) throw new Error(`nothing is written down for ${method} ${url}`);
    if (step === "hang") return untilAborted(signal);
    if (step instanceof Error) throw step;
    return step;
  };
  const wait: WaitPort = async (ms, signal) => {
    signal?.throwIfAborted();
    if (ms !== STALL_MS / 2) return void pauses.push(ms);
    await Promise.race([new Promise<void>((done) => watches.push(done)), untilAborted(signal)]);
  };
  return {
    options: { url: "http://holdfast.test/", key: "hf_test", fetch, wait, stallMs: STALL_MS },
    asked,
    pauses,
    /** Half of `stallMs` goes by, once somebody waits for it. */
    halfStall: async (): Promise<void> => {
      while (watches.length === 0) await new Promise((done) => setImmediate(done));
      watches.shift()?.();
    },
    left: () => left.length,
  };
}

function untilAborted(signal?: AbortSignal | null): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
}

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });

export const problem = (code: string, status: number, over: object = {}, headers = {}) =>
  json(
    {
      code,
      status,
      title: "t",
      detail: `about ${code}`,
      retryable: false,
      requestId: "req_1",
      context: {},
      ...over,
    },
    status,
    headers,
  );

/** A stream of these chunks, which then ends, breaks off, or says nothing any more. */
export function stream(chunks: readonly string[], then: "end" | "break" | "silence" = "end") {
  const left = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const state = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (then === "end") controller.close();
      else if (then === "break") controller.error(new TypeError("terminated"));
      else return new Promise<void>(() => undefined);
      return undefined;
    },
    cancel() {
      state.cancelled = true;
    },
  });
  const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  return Object.assign(response, { state });
}

export const frame = (id: string, event: string, data: object): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
export const logged = (seq: number, type: string, payload: object = {}, id = `${seq}.0.0`) =>
  frame(id, "event", { header: { seq, type, run: "run_1", id: `evt_${seq}` }, hash: "0", payload });
export const delta = (id: string, text: string): string =>
  frame(id, "delta", { runId: "run_1", step: 1, text });
