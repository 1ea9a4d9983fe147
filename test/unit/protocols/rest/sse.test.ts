import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toEventStream } from "#protocols/rest/sse.ts";
import { utf8 } from "#shared/json.ts";

const never = () => () => {};
const cursor = (seq: number, attempt = 0, offset = 0) => ({ seq, attempt, offset });
const delta = (seq: number, text: string) => ({
  type: "delta",
  cursor: cursor(seq, 1, text.length),
  runId: "r",
  step: 1,
  text,
});

function upstream(
  chunks: readonly Uint8Array[],
  end: "close" | "fail" = "close",
): ReadableStream<Uint8Array> {
  const rest = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (end === "close") controller.close();
      else controller.error(new Error("connection lost at 10.0.0.1"));
    },
  });
}
const lines = (...frames: unknown[]) =>
  utf8(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
const read = (frames: ReadableStream<Uint8Array>) =>
  new Response(toEventStream(frames, { requestId: "req_1", every: never })).text();

/** Parses as a browser does: fields until a blank line, comments dropped. */
function events(text: string) {
  return text
    .split("\n\n")
    .map((block) => block.split("\n").filter((line) => line !== "" && !line.startsWith(":")))
    .filter((block) => block.some((line) => line.startsWith("data:")))
    .map((block) =>
      Object.fromEntries(
        block.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
      ),
    );
}

describe("event stream", () => {
  it("[P2] every frame is one event with its position as id", async () => {
    const event = {
      header: { seq: 3, type: "run.started" },
      hash: "h",
      payload: { a: "line\nbreak\r\u2028" },
    };
    const text = await read(
      upstream([
        lines(
          { type: "event", cursor: cursor(3), event },
          delta(3, "Hi"),
          { type: "discard", cursor: cursor(3, 2), runId: "r", step: 1, attempt: 2 },
          { type: "caught_up", cursor: cursor(3, 2, 7) },
        ),
      ]),
    );
    expect(text.startsWith("retry: 1000\n\n")).toBe(true);
    expect(events(text)).toEqual([
      { id: "3.0.0", event: "event", data: JSON.stringify(event) },
      { id: "3.1.2", event: "delta", data: '{"runId":"r","step":1,"text":"Hi"}' },
      { id: "3.2.0", event: "discard", data: '{"runId":"r","step":1,"attempt":2}' },
      { id: "3.2.7", event: "caught_up", data: "{}" },
    ]);
  });

  it("[P2] frames survive any cut of the bytes, in order and once each", async () => {
    const frames = [delta(1, "€🧪"), delta(2, 'quote " and \\n'), delta(3, "")];
    const bytes = lines(...frames);
    const whole = await read(upstream([bytes]));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, index) => bytes.slice(at[index], end));
        expect(await read(upstream(chunks))).toBe(whole);
      }),
    );
    expect(events(whole)).toHaveLength(3);
  });

  it("[P1] a stream that breaks ends with one error event, a problem without an id and without inner words", async () => {
    const text = await read(upstream([lines(delta(1, "a"))], "fail"));
    const [, error, ...rest] = events(text);
    expect(rest).toEqual([]);
    expect(error).toMatchObject({ event: "error" });
    expect(error).not.toHaveProperty("id");
    expect(JSON.parse(error?.["data"] ?? "")).toMatchObject({
      code: "unavailable",
      status: 503,
      requestId: "req_1",
      retryable: true,
    });
    expect(text).not.toContain("10.0.0.1");
  });

  it("[P1] an end in the middle of a frame is an error and never a silent short answer", async () => {
    const text = await read(upstream([utf8('{"type":"delta","cursor"')]));
    expect(events(text).map(({ event }) => event)).toEqual(["error"]);
  });

  it.each([
    "not json",
    "[]",
    "null",
    '{"type":"delta"}',
    '{"type":"made_up","cursor":{"seq":1,"attempt":0,"offset":0}}',
    '{"type":"delta","cursor":{"seq":"1\\nevent: x","attempt":0,"offset":0}}',
  ])("[P1] a malformed frame ends the stream and stops its source: %s", async (line) => {
    let cancelled = false;
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(utf8(`${line}\n`)),
      cancel: () => void (cancelled = true),
    });
    expect(events(await read(source)).map(({ event }) => event)).toEqual(["error"]);
    expect(cancelled).toBe(true);
  });

  it("[P2] a client that leaves stops the timer and the source", async () => {
    let cancelled = false;
    let timers = 0;
    const source = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });
    const every = () => {
      timers += 1;
      return () => void (timers -= 1);
    };
    const reader = toEventStream(source, { requestId: "r", every }).getReader();
    await reader.read();
    expect(timers).toBe(1);
    await reader.cancel();
    expect([timers, cancelled]).toEqual([0, true]);
  });

  it("[P2] silence is filled with comments, and only silence", async () => {
    let tick = () => {};
    const every = (_ms: number, callback: () => void) => {
      tick = callback;
      return () => {};
    };
    let push: (frame: unknown) => void = () => {};
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => void (push = (frame) => controller.enqueue(lines(frame))),
    });
    const reader = toEventStream(source, { requestId: "r", every }).getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toBe("retry: 1000\n\n");
    const first = next();
    push(delta(1, "a"));
    expect(await first).toContain("event: delta");
    const second = next();
    tick();
    tick();
    expect(await second).toBe(": keep-alive\n\n");
    const third = next();
    push(delta(2, "b"));
    expect(await third).toContain("event: delta");
  });

  it("[P9] a client that takes nothing for a minute is cut, behind what lies there for it; one that takes is not", async () => {
    let tick = () => {};
    const every = (_ms: number, callback: () => void) => {
      tick = callback;
      return () => void (tick = () => {});
    };
    let pulled = 0;
    let cancelled = false;
    const source = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => controller.enqueue(lines(delta((pulled += 1), "x"))),
        cancel: () => void (cancelled = true),
      },
      { highWaterMark: 0 },
    );
    const reader = toEventStream(source, { requestId: "r", every }).getReader();
    for (let quarter = 0; quarter < 12; quarter += 1) {
      tick();
      await reader.read();
      await new Promise((settled) => void setImmediate(settled));
    }
    expect(cancelled).toBe(false);
    for (let quarter = 0; quarter < 3; quarter += 1) tick();
    expect(cancelled).toBe(false);
    tick();
    expect(cancelled).toBe(true);
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      rest += new TextDecoder().decode(value);
    }
    const [last, error, ...more] = events(rest);
    expect(more).toEqual([]);
    expect(last).toMatchObject({ event: "delta", id: `${pulled}.1.1` });
    expect(error).toMatchObject({ event: "error" });
    expect(JSON.parse(error?.["data"] ?? "")).toMatchObject({
      code: "unavailable",
      retryable: true,
    });
  });

  it("[P2] nothing is pulled ahead of a client that does not read", async () => {
    let pulled = 0;
    const source = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(lines(delta(pulled, "x")));
        },
      },
      { highWaterMark: 0 },
    );
    const reader = toEventStream(source, { requestId: "r", every: never }).getReader();
    for (let reads = 0; reads < 5; reads += 1) await reader.read();
    expect(pulled).toBeLessThanOrEqual(6);
    await reader.cancel();
  });
});
