/** Streams of the client against a scripted fetch: cut anywhere, repeated, silent, refused. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Holdfast } from "#client/client.ts";
import type { StreamItem } from "#client/types.ts";
import {
  delta,
  frame,
  json,
  logged,
  problem,
  scripted,
  stream,
  type Step,
} from "#test/support/scripted-fetch.ts";

const RECEIPT = { seq: 2, runId: "run_1", messageId: "m", disposition: "started" };
const DONE = logged(9, "run.completed", { finish: "stop", text: "", output: null });

function threadOf(steps: readonly Step[], over: object = {}) {
  const port = scripted(steps);
  return {
    ...port,
    thread: new Holdfast({ ...port.options, ...over }).agent("analyst").thread("t"),
  };
}
async function allOf(items: AsyncIterable<StreamItem>): Promise<readonly StreamItem[]> {
  const found: StreamItem[] = [];
  for await (const item of items) found.push(item);
  return found;
}
const cursors = (items: readonly StreamItem[]): readonly string[] =>
  items.map(({ cursor }) => cursor);
const textOf = (items: readonly StreamItem[]): string =>
  items.map((item) => (item.type === "delta" ? item.text : "")).join("");

describe("streams of the client", () => {
  it("[P112] goes on behind the last position seen, and gives what is told twice once", async () => {
    const { thread, asked, left } = threadOf([
      json(RECEIPT),
      stream([logged(3, "input.received"), delta("5.1.2", "He")], "break"),
      stream([delta("5.1.2", "He"), delta("5.1.5", "llo"), logged(6, "model.answered")], "end"),
      stream([logged(6, "model.answered"), frame("6.0.0", "caught_up", {}), DONE]),
    ]);
    const run = await thread.send("hello");
    const items = await allOf(run.stream());
    expect(cursors(items)).toEqual(["3.0.0", "5.1.2", "5.1.5", "6.0.0", "6.0.0", "9.0.0"]);
    expect(items.map(({ type }) => type)).toContain("caught_up");
    expect(textOf(items)).toBe("Hello");
    const opened = asked.filter(({ url }) => url.includes("/events"));
    expect(opened.map(({ headers }) => headers.get("last-event-id"))).toEqual([
      "2",
      "5.1.2",
      "6.0.0",
    ]);
    expect(opened[0]?.url).toContain("deltas=1&run=run_1");
    expect(left()).toBe(0);
  });

  it("[P112] any cut of any stream gives each event once, in order", async () => {
    const told = [
      logged(3, "input.received"),
      logged(4, "model.requested"),
      delta("4.1.4", "Über"),
      delta("4.1.6", " 😀"),
      frame("4.2.0", "discard", { runId: "run_1", step: 1, attempt: 2 }),
      delta("4.2.3", "x\ny"),
      logged(5, "model.answered"),
      DONE,
    ];
    const ids = ["3.0.0", "4.0.0", "4.1.4", "4.1.6", "4.2.0", "4.2.3", "5.0.0", "9.0.0"];
    const cuts = fc.array(fc.nat(400), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.integer({ min: 1, max: 9 }), async (lengths, size) => {
        // A server that tells everything again each time, cut in the middle of anything; the last one is whole.
        const steps = [...lengths, Infinity].map((length) => {
          const text = told.join("").slice(0, length);
          const chunks = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
          return stream(chunks, length === Infinity ? "end" : "break");
        });
        const { thread } = threadOf(steps, { retry: { attempts: 20 } });
        expect(cursors(await allOf(thread.stream({ until: "run_1" })))).toEqual(ids);
      }),
    );
  });

  it("[P113] a connection that falls silent is given up, and another takes its place", async () => {
    const silent = stream([logged(3, "input.received")], "silence");
    const { thread, halfStall, pauses } = threadOf([silent, stream([DONE])]);
    const items = thread.stream({ until: "run_1" });
    expect(await items.next()).toMatchObject({ value: { cursor: "3.0.0" } });
    // The first half of `stallMs` heard that event, the next ones hear nothing.
    await halfStall();
    await halfStall();
    expect(silent.state.cancelled).toBe(false);
    await halfStall();
    expect(cursors(await allOf(items))).toEqual(["9.0.0"]);
    expect(silent.state.cancelled).toBe(true);
    expect(pauses).toHaveLength(1);
  });

  it("[P114] attempts count from the last new event on", async () => {
    const steps = [1, 2, 3, 4].flatMap((seq) => [
      new TypeError("fetch failed"),
      stream([logged(seq, "input.received")], "break"),
    ]);
    const { thread } = threadOf([...steps, stream([DONE])], { retry: { attempts: 2 } });
    expect(await allOf(thread.stream({ until: "run_1" }))).toHaveLength(5);
    const idle = threadOf([stream([], "end"), stream([], "end")], { retry: { attempts: 2 } });
    await expect(allOf(idle.thread.stream())).rejects.toMatchObject({ code: "stalled" });
  });

  it("[P114] an error event of a server that goes away is a reason to come again; one about the request is thrown", async () => {
    const away = frame("", "error", {
      code: "unavailable",
      status: 503,
      detail: "",
      retryable: true,
    });
    const back = threadOf([stream([away.replace("id: \n", "")]), stream([DONE])]);
    expect(await allOf(back.thread.stream({ until: "run_1" }))).toHaveLength(1);
    const gone = frame("", "error", { code: "history_pruned", status: 410, detail: "pruned" });
    const refused = threadOf([stream([gone.replace("id: \n", "")])]);
    await expect(allOf(refused.thread.stream())).rejects.toMatchObject({ code: "history_pruned" });
  });

  it("[P115] a refused stream is the server's error", async () => {
    const { thread } = threadOf([problem("not_found", 404)]);
    await expect(allOf(thread.stream())).rejects.toMatchObject({ code: "not_found", status: 404 });
  });

  it("[P112] a run that had ended before the position asked for ends the stream", async () => {
    const { thread } = threadOf([stream([]), json({ runId: "run_1", endedAt: 5 })]);
    expect(await allOf(thread.stream({ from: "9.0.0", until: "run_1" }))).toEqual([]);
  });

  it("[P116] a reader that leaves, or aborts, closes its connection", async () => {
    const left = stream([logged(3, "input.received")], "silence");
    for await (const item of threadOf([left]).thread.stream()) if (item.cursor === "3.0.0") break;
    expect(left.state.cancelled).toBe(true);
    const stop = new AbortController();
    const reason = new Error("enough");
    const aborted = stream([logged(3, "input.received")], "silence");
    const reading = allOf(threadOf([aborted]).thread.stream({ signal: stop.signal }));
    setImmediate(() => stop.abort(reason));
    await expect(reading).rejects.toBe(reason);
  });

  it("[P112] a run's stream leaves other runs out", async () => {
    const other = logged(4, "run.completed").replace("run_1", "run_0");
    const { thread } = threadOf([
      json(RECEIPT),
      stream([logged(3, "input.received"), other, DONE]),
    ]);
    const run = await thread.send("hello");
    expect(cursors(await allOf(run.stream()))).toEqual(["3.0.0", "9.0.0"]);
  });

  it("tells an answer whole each time: without what was void, with what live text lacked", async () => {
    const answered = logged(8, "model.answered", { parts: [{ type: "text", text: "Half done." }] });
    const { thread } = threadOf([
      json(RECEIPT),
      stream([logged(4, "model.requested"), delta("4.1.3", "Hal"), delta("4.1.4", "f")], "break"),
      stream([
        frame("4.2.0", "discard", { runId: "run_1" }),
        delta("4.2.4", "Half"),
        answered,
        DONE,
      ]),
    ]);
    const run = await thread.send("go");
    const told: string[] = [];
    for await (const text of run.text()) told.push(text);
    expect(told).toEqual(["Hal", "Half", "Half", "Half done."]);
  });

  it("waits for a result, and asks about what waits for a person", async () => {
    const approval = { approvalId: "evt_5", status: "open", tool: "refund", args: { order: 1 } };
    const { thread, asked } = threadOf([
      json(RECEIPT),
      stream([logged(5, "approval.requested")], "break"),
      json(approval),
      json({}),
      stream([DONE]),
      json({ runId: "run_1", status: "completed", output: { n: 1 } }),
    ]);
    const parse = (value: unknown): number => (value as { n: number }).n;
    const run = await thread.send("refund", { output: { name: "n", schema: {}, parse } });
    const seen: unknown[] = [];
    const result = await run.result({
      onApproval: (open) => {
        seen.push(open);
        return { decision: "approve" };
      },
    });
    expect(result.output).toBe(1);
    expect(seen).toEqual([approval]);
    const decided = asked.find(({ url }) => url.endsWith("/approvals/evt_5/decision"));
    expect(decided?.body).toBe('{"decision":"approve"}');
  });
});
