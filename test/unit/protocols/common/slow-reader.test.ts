/** A reader that takes nothing is cut in its protocol's own words, and goes on from there: nothing is lost or told twice. */
import { describe, expect, it } from "vitest";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { behind, isBrokenOff, RunWriter, toBlock } from "#protocols/ag-ui/encode.ts";
import { toBounded } from "#protocols/common/bounded-body.ts";
import { toSse } from "#protocols/common/sse-writer.ts";
import { openTurn, type OpenTurn } from "#protocols/common/turn.ts";
import { toChunks } from "#protocols/openai/chat.ts";
import { toEvents, type ResponseFrame } from "#protocols/openai/response.ts";
import { trusted } from "#shared/ids.ts";
import { utf8, type Json } from "#shared/json.ts";

const RUN = "run_1";
const WORDS = 40;
const PLACE: ResponseFrame["place"] = {
  agent: trusted("obeys"),
  thread: trusted("thr_0"),
  run: trusted(RUN),
  seq: 1,
};
/** What was read ahead for a reader lies there. */
const settled = (): Promise<void> => new Promise((done) => void setImmediate(done));
const event = (seq: number, type: string, payload: Json) =>
  ({
    type: "event",
    cursor: { seq, attempt: 0, offset: 0 },
    event: { header: { type, run: RUN, step: 1, seq, id: `evt_${seq}` }, hash: "", payload },
  }) as unknown as StreamFrame;
const words = Array.from({ length: WORDS }, (_, index) => `w${index} `);
const text = words.join("");
let offset = 0;
const FRAMES: readonly StreamFrame[] = [
  event(3, "model.requested", {}),
  ...words.map((word): StreamFrame => {
    offset += word.length;
    const cursor = { seq: 3, attempt: 1, offset };
    return { type: "delta", cursor, runId: RUN, step: 1, text: word };
  }),
  event(4, "model.answered", {
    parts: [{ type: "text", text }],
    usage: { inputTokens: 1, outputTokens: 1 },
  }),
  event(5, "run.completed", { finish: "stop", text, output: null }),
];

/** One frame a pull, as many as the reader asks for. */
class Source {
  pulled = 0;
  cancelled = false;
  readonly body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const frame = FRAMES[this.pulled];
        this.pulled += 1;
        if (frame === undefined) controller.close();
        else controller.enqueue(utf8(`${JSON.stringify(frame)}\n`));
      },
      cancel: () => void (this.cancelled = true),
    },
    { highWaterMark: 0 },
  );

  open(): OpenTurn {
    const from = { seq: 1, attempt: 0, offset: 0 };
    return openTurn(this.body, { runId: RUN, from, follow: true, whole: true });
  }
}

type Blocks = (turn: OpenTurn, after: number) => AsyncGenerator<string, void, undefined>;
const responses: Blocks = ({ items }, after) => {
  const frame = {
    place: PLACE,
    createdAt: 1,
    previous: null,
    background: false,
    structured: false,
    format: null,
  };
  return toEvents(items, frame, after);
};
const agUi: Blocks = async function* ({ items }, after) {
  const writer = new RunWriter({
    threadId: "t",
    runId: "r",
    run: RUN,
    seq: 1,
    state: null,
    seen: null,
    after,
  });
  let told = after;
  const unseen = function* (numbered: ReturnType<RunWriter["read"]>): Generator<string> {
    for (const one of numbered) {
      const left = isBrokenOff(one) ? { ...one, number: told } : behind(one, after);
      if (left === null) continue;
      told = left.number;
      yield toBlock(left, RUN);
    }
  };
  yield* unseen(writer.begin());
  for await (const item of items) yield* unseen(writer.read(item));
};
const chat: Blocks = ({ items }) =>
  toChunks(items, {
    id: "c",
    model: trusted("obeys"),
    thread: trusted("thr_0"),
    created: 1,
    includeUsage: false,
    structured: false,
  });

/** Reads some of a stream, leaves it lying for a minute, and then reads on. */
async function readSlowly(blocks: Blocks) {
  const source = new Source();
  const turn = source.open();
  const close = async (): Promise<void> => turn.close();
  let tick = () => {};
  const every = (_ms: number, callback: () => void) => {
    tick = callback;
    return () => void (tick = () => {});
  };
  const reader = toSse(blocks(turn, -1), { left: close, cut: close, every }).getReader();
  let told = "";
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (!done) told += new TextDecoder().decode(value);
    return !done;
  };
  while (!told.includes("w5 ")) await read();
  await settled();
  const pulled = source.pulled;
  for (let quarter = 0; quarter < 4; quarter += 1) tick();
  while (await read());
  return { told, source, pulled };
}
const dataOf = (told: string): readonly Record<string, unknown>[] =>
  told
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);
const textOf = (told: string): string =>
  dataOf(told)
    .map(({ delta }) => (typeof delta === "string" ? delta : ""))
    .join("");

async function whole(blocks: AsyncGenerator<string, void, undefined>): Promise<string> {
  let told = "";
  for await (const block of blocks) told += block;
  return told;
}

describe("a reader that takes nothing for a minute", () => {
  it("[P9] [P64] Responses: is told the number of what it has, and goes on behind it", async () => {
    const { told, source, pulled } = await readSlowly(responses);
    expect(source.cancelled).toBe(true);
    // What had been read for it, and no more.
    expect(source.pulled).toBeLessThanOrEqual(pulled + 1);
    const last = dataOf(told).at(-1);
    expect(last).toMatchObject({ type: "error" });
    const after = Number(last?.["sequence_number"]);
    const rest = await whole(responses(new Source().open(), after));
    expect(textOf(told) + textOf(rest)).toBe(text);
    expect(rest).toContain("response.completed");
  });

  it("[P9] [P72] AG-UI: its last event has the id to go on from", async () => {
    const { told } = await readSlowly(agUi);
    expect(dataOf(told).at(-1)).toMatchObject({ type: "RUN_ERROR" });
    const id = /id: (\S+)\n[^]*$/.exec(told.slice(told.lastIndexOf("id: ")))?.[1] ?? "";
    const after = Number(/\d+$/.exec(id)?.[0]);
    const rest = await whole(agUi(new Source().open(), after));
    expect(textOf(told) + textOf(rest)).toBe(text);
    expect(rest).toContain("RUN_FINISHED");
  });

  it("[P9] [P63] a chat ends with an error and no [DONE], never as a short answer", async () => {
    const { told } = await readSlowly(chat);
    expect(dataOf(told).at(-1)).toHaveProperty("error");
    expect(told).not.toContain("[DONE]");
    expect(told).not.toContain('"finish_reason":"stop"');
  });
});

describe("a body that is written to at its own pace", () => {
  const chunk = new Uint8Array(100);
  const endless = (state: { written: number; cancelled: boolean }) =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        state.written += 1;
        controller.enqueue(chunk);
      },
      cancel: () => void (state.cancelled = true),
    });

  it("[P9] holds no more than its bound, and ends behind what its reader was given", async () => {
    const state = { written: 0, cancelled: false };
    const unread = toBounded(endless(state), 1_000);
    await expect.poll(() => state.cancelled).toBe(true);
    const bytes = await new Response(unread).arrayBuffer();
    expect(bytes.byteLength).toBeGreaterThanOrEqual(1_000);
    expect(bytes.byteLength).toBeLessThanOrEqual((state.written + 1) * 100);
  });

  it("[P9] passes on what fits, its end, and that its reader left", async () => {
    const three = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let index = 0; index < 3; index += 1) controller.enqueue(chunk);
        controller.close();
      },
    });
    expect((await new Response(toBounded(three, 1_000)).arrayBuffer()).byteLength).toBe(300);
    const state = { written: 0, cancelled: false };
    const reader = toBounded(endless(state), 100_000).getReader();
    await reader.read();
    await reader.cancel();
    expect(state.cancelled).toBe(true);
  });
});
