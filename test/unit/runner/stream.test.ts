import { describe, expect, test, vi } from "vitest";
import type { StreamCursor, StreamFrame } from "#ports/thread-gateway.ts";
import type { StreamSubscription } from "#runner/stream.ts";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const START: StreamCursor = { seq: 0, attempt: 0, offset: 0 };

/** Reads in the background, as a socket does, and keeps what came. */
class Reader {
  readonly frames: StreamFrame[] = [];
  readonly #subscription: StreamSubscription;
  readonly done: Promise<void>;

  constructor(thread: ThreadHarness, from: StreamCursor = START, deltas = true) {
    this.#subscription = thread.runtime.subscribe({ from, deltas });
    this.done = this.#read();
  }

  async #read(): Promise<void> {
    for await (const frame of this.#subscription) this.frames.push(frame);
  }

  async stop(): Promise<readonly StreamFrame[]> {
    this.#subscription.close();
    await this.done;
    return this.frames;
  }
  async until(condition: (frames: readonly StreamFrame[]) => boolean): Promise<this> {
    await expect.poll(() => condition(this.frames)).toBe(true);
    return this;
  }
}

const seqs = (frames: readonly StreamFrame[]): readonly number[] =>
  frames.flatMap((frame) => (frame.type === "event" ? [frame.event.header.seq] : []));
const text = (frames: readonly StreamFrame[]): string =>
  frames.flatMap((frame) => (frame.type === "delta" ? [frame.text] : [])).join("");
const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const isCaughtUp = (frames: readonly StreamFrame[]): boolean =>
  frames.some(({ type }) => type === "caught_up");

const words = (...parts: readonly string[]): readonly ScriptPart[] =>
  parts.map((part) => ({ text: part }));

describe("replay and live", () => {
  test("[P2] a reader from the start gets each event once, then caught_up, then live events", async () => {
    const world = new World();
    const thread = new ThreadHarness({
      model: new ScriptModel([ask(["look"]), say("one"), say("two")]),
      tools: [world.tool("look", "read")],
    });
    thread.send("first");
    await thread.finish();
    const reader = new Reader(thread);
    await reader.until(isCaughtUp);
    const before = thread.log.head().seq;
    expect(seqs(reader.frames)).toEqual(range(1, before));
    expect(reader.frames.at(-1)).toEqual({
      type: "caught_up",
      cursor: { seq: before, attempt: 0, offset: 0 },
    });
    thread.send("second");
    await thread.finish();
    await reader.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    expect(seqs(await reader.stop())).toEqual(range(1, thread.log.head().seq));
    expect(reader.frames.filter(({ type }) => type === "caught_up")).toHaveLength(1);
  });

  test("[P2] replay of more events than one page has no gap and no repeat", async () => {
    const thread = new ThreadHarness({ model: null });
    for (let index = 0; index < 450; index += 1) {
      thread.runtime.submit(
        { type: "set_state", state: index, bytes: 3 },
        { actor: "u", idempotencyKey: null, bodyDigest: "" },
      );
    }
    thread.reopen();
    const reader = await new Reader(thread, { seq: 20, attempt: 0, offset: 0 }).until(isCaughtUp);
    expect(seqs(await reader.stop())).toEqual(range(21, 451));
  });

  test("[P2] readers that are far behind read each page of the log once between them", async () => {
    const thread = new ThreadHarness({ model: null });
    for (let index = 0; index < 1_050; index += 1) {
      thread.runtime.submit(
        { type: "set_state", state: index, bytes: 3 },
        { actor: "u", idempotencyKey: null, bodyDigest: "" },
      );
    }
    thread.reopen();
    const reads = vi.spyOn(thread.log, "read");
    const readers = range(1, 20).map(
      (index) => new Reader(thread, { seq: index * 7, attempt: 0, offset: 0 }),
    );
    for (const reader of readers) await reader.until(isCaughtUp);
    // Ten full pages, and for each reader what is behind the last of them, twice.
    expect(reads.mock.calls.length).toBeLessThanOrEqual(10 + 4 * readers.length);
    for (const [index, reader] of readers.entries())
      expect(seqs(await reader.stop())).toEqual(range((index + 1) * 7 + 1, 1_051));
    reads.mockRestore();
  });

  test("[P2] [H30] what was erased is not told from a page that was read before", async () => {
    const thread = new ThreadHarness({ model: new ScriptModel([say("a secret")]) });
    for (let index = 0; index < 120; index += 1) {
      thread.runtime.submit(
        { type: "set_state", state: index, bytes: 3 },
        { actor: "u", idempotencyKey: null, bodyDigest: "" },
      );
    }
    thread.reopen();
    await (await new Reader(thread).until(isCaughtUp)).stop();
    thread.runtime.erase([50]);
    const reader = await new Reader(thread).until(isCaughtUp);
    const erased = (await reader.stop()).flatMap((frame) =>
      frame.type === "event" && frame.event.payload === null ? [frame.event.header.seq] : [],
    );
    expect(erased).toEqual([50]);
  });

  test("[P2] a reader that comes back with any cursor it saw misses nothing and repeats nothing", async () => {
    const model = new ScriptModel([
      [...words("al", "pha", " beta"), { hold: true }, ...words(" gam", "ma"), { finish: "stop" }],
    ]);
    const thread = new ThreadHarness({ model });
    const whole = new Reader(thread);
    thread.send("go");
    const driving = thread.finish();
    await whole.until((frames) => text(frames) === "alpha beta");
    const midway = [...whole.frames];
    model.release();
    await driving;
    await whole.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    const all = await whole.stop();
    for (const [index, frame] of midway.entries()) {
      const seen = all.slice(0, index + 1);
      const again = await new Reader(thread, frame.cursor).until(isCaughtUp);
      const rest = await again.stop();
      expect(seqs([...seen, ...rest])).toEqual(range(1, thread.log.head().seq));
      // From a place in the text the rest of it comes as text; from before it, the answer's own event has it all.
      if (frame.cursor.attempt > 0) expect(text([...seen, ...rest])).toBe("alpha beta gamma");
    }
  });

  test("[P3] the deltas of a live answer add up to its text exactly, whenever the reader joins", async () => {
    const model = new ScriptModel([
      [...words("one ", "two "), { hold: true }, ...words("three"), { finish: "stop" }],
    ]);
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    const joined = await new Reader(thread).until((frames) => text(frames) === "one two ");
    model.release();
    await driving;
    await joined.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    const frames = await joined.stop();
    expect(text(frames)).toBe("one two three");
    const last = frames.findLastIndex(({ type }) => type === "delta");
    expect(
      frames
        .slice(last + 1)
        .some((frame) => frame.type === "event" && frame.event.header.type === "model.answered"),
    ).toBe(true);
  });

  test("[P2] a reader that does not read holds no buffer: what it missed comes as one delta", async () => {
    const model = new ScriptModel([
      [{ hold: true }, ...words("abc", "def", "ghij"), { finish: "stop" }],
    ]);
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    const iterator = thread.runtime
      .subscribe({ from: START, deltas: true })
      [Symbol.asyncIterator]();
    const frames: StreamFrame[] = [];
    for (let frame = await iterator.next(); !frame.done; frame = await iterator.next()) {
      frames.push(frame.value);
      if (frame.value.type === "caught_up") break;
    }
    model.release();
    await driving;
    const next = await iterator.next();
    expect(next.value).toMatchObject({ type: "delta", text: "abcdefghij" });
  });

  test("[P3] without deltas a reader gets durable events only", async () => {
    const thread = new ThreadHarness({ model: new ScriptModel([say("hello")]) });
    const reader = new Reader(thread, START, false);
    thread.send("go");
    await thread.finish();
    await reader.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    expect(
      (await reader.stop()).every(({ type }) => type === "event" || type === "caught_up"),
    ).toBe(true);
  });

  test("[P2] a shutdown ends every subscription", async () => {
    const thread = new ThreadHarness({ model: null });
    const reader = await new Reader(thread).until(isCaughtUp);
    thread.runtime.abort("deploy");
    await reader.done;
  });
});

describe("attempts", () => {
  test("[P3] a failed attempt's text is discarded by one frame before the next attempt's text", async () => {
    const model = new ScriptModel([[...words("wrong"), { error: "overloaded" }], say("right")], {
      by: "call",
    });
    const thread = new ThreadHarness({ model });
    const reader = new Reader(thread);
    thread.send("go");
    await thread.runtime.drive();
    await reader.until(
      (frames) => text(frames) === "wrong" || seqs(frames).at(-1) === thread.log.head().seq,
    );
    await thread.finish();
    await reader.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    const frames = await reader.stop();
    const discards = frames.filter(({ type }) => type === "discard");
    expect(discards).toHaveLength(1);
    expect(discards[0]).toMatchObject({ runId: "run_1", step: 1, attempt: 2 });
    expect(text(frames.slice(frames.findIndex(({ type }) => type === "discard")))).toBe("right");
  });

  test("[P3] after a crash in the text the reader resumes in what was stored, is told to discard, and gets the text once", async () => {
    const long = "x".repeat(3_000);
    const model = new ScriptModel([
      [...words(long), { hold: true }, ...words("y"), { finish: "stop" }],
    ]);
    const thread = new ThreadHarness({ model });
    thread.send("go");
    void thread.runtime.drive();
    const reader = await new Reader(thread).until((frames) => text(frames) === long);
    const { cursor } = (await reader.stop()).at(-1) ?? { cursor: START };
    expect(cursor).toMatchObject({ attempt: 1, offset: 3_000 });
    expect(thread.database.exec("SELECT count(*) AS n FROM stream_blocks")[0]?.["n"]).toBe(1);
    thread.runtime.abort("killed");
    thread.reopen();
    const again = new Reader(thread, cursor);
    model.release();
    await thread.finish();
    await again.until((frames) => seqs(frames).at(-1) === thread.log.head().seq);
    const frames = await again.stop();
    const discard = frames.findIndex(({ type }) => type === "discard");
    expect(frames[discard]).toMatchObject({ attempt: 2 });
    expect(text(frames.slice(0, discard))).toBe("");
    expect(text(frames.slice(discard))).toBe(`${long}y`);
  });

  test("[P3] a reader that left between a request and its discard is told after all", async () => {
    const model = new ScriptModel([[{ error: "overloaded" }], say("right")], { by: "call" });
    const thread = new ThreadHarness({ model });
    thread.send("go");
    await thread.finish();
    const second = thread.of("model.requested")[1]?.header.seq ?? 0;
    const reader = await new Reader(thread, { seq: second, attempt: 0, offset: 0 }).until(
      isCaughtUp,
    );
    expect((await reader.stop())[0]).toMatchObject({
      type: "discard",
      attempt: 2,
      cursor: { seq: second, attempt: 2, offset: 0 },
    });
    const told = await new Reader(thread, { seq: second, attempt: 2, offset: 0 }).until(isCaughtUp);
    expect((await told.stop()).some(({ type }) => type === "discard")).toBe(false);
  });
});

describe("blocks", () => {
  const stored = (thread: ThreadHarness): readonly unknown[] =>
    thread.database.exec("SELECT idx, length(text) AS n FROM stream_blocks ORDER BY idx");

  test("[P3] text is packed: no row per token, a block at 1 KiB or after 250 ms", async () => {
    const model = new ScriptModel([
      [
        ...words(...Array.from({ length: 300 }, () => "tokens ")),
        { hold: true },
        { finish: "stop" },
      ],
    ]);
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    expect(stored(thread)).toEqual([
      { idx: 0, n: 1_029 },
      { idx: 1, n: 1_029 },
    ]);
    thread.timers.advance(250);
    expect(stored(thread)).toEqual([
      { idx: 0, n: 1_029 },
      { idx: 1, n: 1_029 },
      { idx: 2, n: 42 },
    ]);
    model.release();
    await driving;
    expect(stored(thread)).toEqual([]);
  });

  test("[P3] blocks go in the outcome's transaction, so a crash before the outcome keeps them and one after it finds none", async () => {
    const script = [[...words("z".repeat(2_000)), { finish: "stop" } as const]];
    const before = new ThreadHarness({
      model: new ScriptModel(script),
      boundary: new CrashBoundary(3),
    });
    before.send("go");
    await expect(before.finish()).rejects.toThrow("after_dispatch");
    expect(stored(before)).toHaveLength(1);
    before.boundary = new CrashBoundary();
    before.reopen();
    await before.finish();
    expect(stored(before)).toEqual([]);
    const after = new ThreadHarness({
      model: new ScriptModel(script),
      boundary: new CrashBoundary(4),
    });
    after.send("go");
    await expect(after.finish()).rejects.toThrow("after_outcome");
    expect(stored(after)).toEqual([]);
  });

  test("[P3] a block that cannot be stored costs nothing but itself: the answer is recorded whole", async () => {
    const model = new ScriptModel([[...words("z".repeat(2_000)), { finish: "stop" }]]);
    const thread = new ThreadHarness({ model });
    thread.database.exec("DROP TABLE stream_blocks");
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1").text).toBe("z".repeat(2_000));
    expect(thread.of("model.failed")).toEqual([]);
  });
});
