import { describe, expect, it } from "vitest";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { openTurn } from "#protocols/common/turn.ts";
import { toSse } from "#protocols/common/sse-writer.ts";
import { toChunks, type ChatFrame } from "#protocols/openai/chat.ts";
import { trusted } from "#shared/ids.ts";
import { utf8, type Json } from "#shared/json.ts";

const FRAME: ChatFrame = {
  id: "chatcmpl-1",
  model: "obeys",
  thread: trusted("thr_0"),
  created: 1,
  includeUsage: false,
  structured: false,
};
const cursor = { seq: 3, attempt: 1, offset: 0 };
const RUN = "run_1";

const delta = (text: string, runId = RUN): StreamFrame => ({
  type: "delta",
  cursor,
  runId,
  step: 1,
  text,
});
const discard = (): StreamFrame => ({ type: "discard", cursor, runId: RUN, step: 1, attempt: 2 });
const event = (type: string, payload: Json, run = RUN): StreamFrame =>
  ({
    type: "event",
    cursor,
    event: { header: { type, run, step: 1, seq: 3, id: "evt_1" }, hash: "", payload },
  }) as unknown as StreamFrame;
const completed = event("run.completed", { finish: "stop", text: "", output: null });

/** What a client reads of these frames; `cut` ends the bytes in the middle of another. */
async function read(frames: readonly StreamFrame[], cut = ""): Promise<readonly Json[]> {
  const bytes = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("") + cut;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8(bytes));
      controller.close();
    },
  });
  const from = { seq: 0, attempt: 0, offset: 0 };
  const turn = openTurn(body, { runId: RUN, from, follow: true, whole: false });
  const lines: Json[] = [];
  for await (const block of toChunks(turn.items, FRAME)) {
    const data = block.slice("data: ".length).trim();
    lines.push(data === "[DONE]" ? data : (JSON.parse(data) as Json));
  }
  return lines;
}
const textOf = (lines: readonly Json[]): string =>
  lines
    .map((line) => {
      const { choices = [] } = line as { choices?: { delta: { content?: string } }[] };
      return choices[0]?.delta.content ?? "";
    })
    .join("");
const codeOf = (lines: readonly Json[]): unknown =>
  (lines.at(-1) as { error?: { code: string } }).error?.code ?? lines.at(-1);

/** A run whose tool says nothing for a minute, over the stream as its client reads it. */
async function readSilence(quarters: number): Promise<readonly string[]> {
  let push: (frame: StreamFrame) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      void (push = (frame) => controller.enqueue(utf8(`${JSON.stringify(frame)}\n`))),
  });
  const from = { seq: 0, attempt: 0, offset: 0 };
  const turn = openTurn(body, { runId: RUN, from, follow: true, whole: false });
  let tick = () => {};
  const every = (_ms: number, callback: () => void) => {
    tick = callback;
    return () => void (tick = () => {});
  };
  const leave = async (): Promise<void> => turn.close();
  const reader = toSse(toChunks(turn.items, FRAME), { left: leave, cut: leave, every }).getReader();
  const told: string[] = [];
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (!done) told.push(...new TextDecoder().decode(value).split("\n\n").filter(Boolean));
    return !done;
  };
  push(delta("before "));
  while (!told.join("").includes("before ")) await read();
  // The clock goes on, a quarter of a minute at a time, and the reader waits.
  for (let quarter = 0; quarter <= quarters; quarter += 1) {
    const next = quarter === 0 ? null : read();
    tick();
    await next;
  }
  push(delta("after"));
  push(completed);
  while (await read());
  return told;
}

describe("a stream of chunks", () => {
  it("[P63] G07 a minute of silence is filled with comments, which are no chunks", async () => {
    const told = await readSilence(4);
    const comments = told.filter((block) => block.startsWith(":"));
    expect(comments).toEqual(Array.from({ length: 4 }, () => ": keep-alive"));
    const chunks = told.filter((block) => !block.startsWith(":"));
    expect(chunks.every((block) => block.startsWith("data: "))).toBe(true);
    expect(chunks.at(-1)).toBe("data: [DONE]");
    const lines = chunks.slice(0, -1).map((block) => JSON.parse(block.slice(6)) as Json);
    expect(textOf(lines)).toBe("before after");
    expect(new Set(lines.map((line) => (line as { id: string }).id)).size).toBe(1);
  });

  it("[P63] G07 upstream cut in the middle of an event: an error, and no [DONE]", async () => {
    const lines = await read([delta("hel"), delta("lo")], '{"type":"del');
    expect(textOf(lines)).toBe("hello");
    expect(codeOf(lines)).toBe("stream_incomplete");
  });

  it("[P63] an upstream that ends without an outcome is cut, too", async () => {
    expect(codeOf(await read([delta("hel")]))).toBe("stream_incomplete");
  });

  it("[P63] G07 a provider error behind three chunks is the run's own reason", async () => {
    const lines = await read([
      delta("a"),
      delta("b"),
      delta("c"),
      event("run.failed", { reason: "model_failed", message: "gone" }),
    ]);
    expect(codeOf(lines)).toBe("model_failed");
    expect(lines).not.toContain("[DONE]");
  });

  it("[P63] an answer that begins again goes on where it says the same", async () => {
    const lines = await read([
      delta("hello w"),
      discard(),
      delta("hel"),
      delta("lo world"),
      completed,
    ]);
    expect(textOf(lines)).toBe("hello world");
    expect(codeOf(lines)).toBe("[DONE]");
  });

  it("[P63] an answer that begins again and says something else is an error", async () => {
    const lines = await read([delta("hello w"), discard(), delta("help"), completed]);
    expect(textOf(lines)).toBe("hello w");
    expect(codeOf(lines)).toBe("answer_restarted");
  });

  it("[P63] what other runs of the thread say is not heard", async () => {
    const other = event("run.completed", { finish: "stop", text: "", output: null }, "run_2");
    const lines = await read([delta("no", "run_2"), other, delta("yes"), completed]);
    expect(textOf(lines)).toBe("yes");
    expect(lines.filter((line) => line === "[DONE]")).toHaveLength(1);
  });
});
