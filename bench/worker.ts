/** Entry of the bench build: runs a thread, the floor beside it, and reports the times of each step. */
import type { Caller, ThreadStub } from "../src/ports/thread-gateway.ts";
import type { TenantId } from "../src/shared/ids.ts";
import { model } from "./agent-object.ts";
import type { FloorObject } from "./floor-object.ts";

export { AgentObject } from "./agent-object.ts";
export { FloorObject } from "./floor-object.ts";
export { LedgerObject } from "./ledger-object.ts";

interface BenchEnv extends Cloudflare.Env {
  readonly AGENT: DurableObjectNamespace;
  readonly FLOOR: DurableObjectNamespace<FloorObject>;
}
type BenchThread = ThreadStub & { reopen(times: number): Promise<number> };

const CALLER: Caller = {
  tenant: "bench" as TenantId,
  kind: "service",
  id: "bench",
  scopes: ["admin"],
};
const MESSAGE = { text: "go", delivery: "queue", output: null, messageId: null } as const;

function threadOf(env: BenchEnv, url: URL): BenchThread {
  const name = url.searchParams.get("thread") ?? "t";
  return env.AGENT.get(env.AGENT.idFromName(`v1/bench/bench/${name}`)) as unknown as BenchThread;
}

function floorOf(env: BenchEnv, url: URL): DurableObjectStub<FloorObject> {
  return env.FLOOR.get(env.FLOOR.idFromName(url.searchParams.get("thread") ?? "t"));
}

function wholeOf(url: URL, name: string, otherwise: number): number {
  return Number(url.searchParams.get(name) ?? otherwise);
}

/** Starts of all steps: the time of a step lies between two of them. */
async function runSteps(env: BenchEnv, url: URL): Promise<object> {
  const thread = threadOf(env, url);
  model.begin(wholeOf(url, "steps", 20), wholeOf(url, "calls", 1));
  await thread.create(CALLER, null, null);
  const before = await headOf(thread);
  const status = await ended(thread, await start(thread));
  return { status, rows: (await headOf(thread)) - before, marks: model.marks };
}

async function start(thread: BenchThread): Promise<string> {
  const sent = await thread.send(CALLER, MESSAGE, null);
  if (!sent.ok || sent.value.runId === null) throw new Error(JSON.stringify(sent));
  return sent.value.runId;
}

/** Polls seldom, so that reading is no part of what a step costs. */
async function ended(thread: BenchThread, runId: string): Promise<string> {
  for (;;) {
    const run = await thread.run(CALLER, runId);
    if (run.ok && run.value.endedAt !== null) return run.value.status;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function headOf(thread: BenchThread): Promise<number> {
  const view = await thread.view(CALLER);
  if (!view.ok) throw new Error(JSON.stringify(view));
  return view.value.head.seq;
}

/**
 * From the message to the first text at a reader of the thread's stream, and of the port called directly. Beside them, what
 * of it passes before the model is called, and what one answer costs that waits for the disk: the floor's step.
 */
async function firstText(env: BenchEnv, url: URL): Promise<object> {
  const thread = threadOf(env, url);
  await thread.create(CALLER, null, null);
  const through: number[] = [];
  const called: number[] = [];
  const durable: number[] = [];
  const floor = floorOf(env, url);
  const direct: number[] = [];
  for (let time = 0; time < wholeOf(url, "times", 30); time += 1) {
    model.begin(0, 0, 20);
    const seq = await headOf(thread);
    const options = { from: { seq, attempt: 0, offset: 0 }, runId: null, deltas: true };
    const stream = await thread.stream(CALLER, options);
    if (!stream.ok) throw new Error(JSON.stringify(stream));
    const startedAt = performance.now();
    const [runId] = await Promise.all([start(thread), untilDelta(stream.value)]);
    through.push(performance.now() - startedAt);
    called.push((model.marks[0] ?? 0) - startedAt);
    await ended(thread, runId);
    direct.push(await callDirectly());
    const writtenAt = performance.now();
    await floor.steps(1, 1);
    durable.push(performance.now() - writtenAt);
  }
  return { through, called, direct, durable };
}

async function untilDelta(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  for (let text = ""; !text.includes('"type":"delta"');) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the stream ended without text");
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
}

async function callDirectly(): Promise<number> {
  model.begin(0, 0, 20);
  const startedAt = performance.now();
  for await (const part of model.stream()) {
    if (part.type === "text") break;
  }
  return performance.now() - startedAt;
}

async function answer(env: BenchEnv, url: URL): Promise<object | null> {
  switch (url.pathname) {
    case "/thread":
      return runSteps(env, url);
    case "/open":
      return { ms: await threadOf(env, url).reopen(wholeOf(url, "times", 50)) };
    case "/first-text":
      return firstText(env, url);
    case "/floor":
      return {
        marks: await floorOf(env, url).steps(wholeOf(url, "steps", 20), wholeOf(url, "calls", 1)),
      };
    default:
      return null;
  }
}

export default {
  async fetch(request: Request, env: BenchEnv): Promise<Response> {
    const found = await answer(env, new URL(request.url));
    return found === null ? new Response("no such bench", { status: 404 }) : Response.json(found);
  },
} satisfies ExportedHandler<BenchEnv>;
