/** The events of a thread over REST: streams and their resumption, exports, erasing one payload. No GET changes anything. */
import { describe, expect, it } from "vitest";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { THREAD, createTestApp, problemOf } from "#test/support/test-app.ts";

const cursor = (seq: number, attempt = 0, offset = 0) => ({ seq, attempt, offset });
const delta = (seq: number): StreamFrame => ({
  type: "delta",
  cursor: cursor(seq, 1, 2),
  runId: "run_1",
  step: 1,
  text: "hi",
});
const SSE = { accept: "text/event-stream" };
const ids = (text: string) => [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);

describe("events", () => {
  async function withThread() {
    const test = createTestApp();
    await test.call("POST", `${THREAD}/messages`, { json: { text: "x" } });
    return test;
  }

  it("[P2] with Accept: text/event-stream the answer is the stream of that run, and its URL resumes it", async () => {
    const { call, gateway } = createTestApp();
    gateway.frames.push(delta(3), { type: "caught_up", cursor: cursor(3) });
    const response = await call("POST", `${THREAD}/messages`, {
      json: { text: "hello" },
      headers: SSE,
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    expect(response.headers.get("location")).toBe(`${THREAD}/runs/run_1`);
    expect(ids(await response.text())).toEqual(["3.1.2", "3.0.0"]);
    expect(gateway.streamsOpened).toEqual([{ from: "2.0.0", runId: "run_1", deltas: true }]);
    const { stream } = await (
      await call("POST", `${THREAD}/messages`, { json: { text: "again" } })
    ).json<{ stream: string }>();
    await (await call("GET", stream, { headers: SSE })).text();
    expect(gateway.streamsOpened.at(-1)).toEqual({ from: "3.0.0", runId: "run_2", deltas: true });
  });

  it("[P2] a stream begins after Last-Event-ID, which goes before ?from=", async () => {
    const { call, gateway } = await withThread();
    gateway.frames.push(delta(1), delta(2), delta(3));
    const resume = await call("GET", `${THREAD}/events?from=1`, {
      headers: { ...SSE, "last-event-id": "2.1.2" },
    });
    expect(ids(await resume.text())).toEqual(["3.1.2"]);
    const from = await call("GET", `${THREAD}/events?from=1.0.0&run=run_1&deltas=0`, {
      headers: SSE,
    });
    await from.text();
    expect(gateway.streamsOpened).toEqual([
      { from: "2.1.2", runId: null, deltas: true },
      { from: "1.0.0", runId: "run_1", deltas: false },
    ]);
  });

  it.each(["x", "1.2", "-1.0.0", "1.0.0; drop", "99999999999999999999"])(
    "[P2] Last-Event-ID %j is a clear 400 and opens nothing",
    async (lastEventId) => {
      const { call, gateway } = await withThread();
      const response = await call("GET", `${THREAD}/events`, {
        headers: { ...SSE, "last-event-id": lastEventId },
      });
      expect(response.status).toBe(400);
      expect(await problemOf(response)).toMatchObject({
        code: "invalid_request",
        detail: expect.stringContaining("Last-Event-ID"),
      });
      expect(gateway.streamsOpened).toEqual([]);
    },
  );

  it("[P2] HEAD of a stream opens none", async () => {
    const { call, gateway } = await withThread();
    const response = await call("HEAD", `${THREAD}/events`, { headers: SSE });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(gateway.streamsOpened).toEqual([]);
  });

  it("[P2] a client that goes away cancels the thread's stream", async () => {
    const { call, gateway } = await withThread();
    gateway.stayOpen = true;
    const response = await call("GET", `${THREAD}/events`, { headers: SSE });
    await response.body?.cancel();
    expect(gateway.streamsCancelled).toBe(1);
  });

  it("[P4] no GET or HEAD calls a method that changes something", async () => {
    const { call, gateway } = await withThread();
    gateway.calls.length = 0;
    const suffixes = [
      "",
      "/messages",
      "/runs",
      "/runs/run_1",
      "/events",
      "/state",
      "/files",
      "/files/a",
      "/export",
      "/verify",
      "/runs/run_1/explain",
    ];
    for (const method of ["GET", "HEAD"]) {
      for (const suffix of suffixes) {
        await (await call(method, THREAD + suffix)).text();
        await (await call(method, `/v1/agents/analyst/threads/fresh${suffix}`)).text();
      }
    }
    const methods = new Set(gateway.calls.map((each) => each.split(" ")[0]));
    expect([...methods].toSorted()).toEqual([
      "auditBounds",
      "events",
      "explainRun",
      "export",
      "files",
      "messages",
      "readFile",
      "run",
      "runs",
      "verifyLog",
      "view",
    ]);
    expect(gateway.threads.size).toBe(1);
  });

  it("[L3] an export is the audit's format, page by page up to the head of its beginning", async () => {
    const { call, gateway } = await withThread();
    for (const text of ["a", "b", "c"])
      await call("POST", `${THREAD}/messages`, { json: { text } });
    gateway.calls.length = 0;
    const response = await call("GET", `${THREAD}/export`);
    expect(response.headers.get("content-type")).toBe("application/jsonl");
    const text = await response.text();
    const [manifest, ...events] = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const scope = { tenant: "acme", agent: "analyst", thread: "t1" };
    expect(manifest).toMatchObject({ head: { format: "holdfast-export/1", scope } });
    expect(events[0]).toMatchObject({ log: { logId: "log_1", head: { seq: 5 }, ...scope } });
    expect(events.slice(1, -1).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(events.at(-1)).toMatchObject({ end: { logs: 1, events: 5, anchors: 0, keyId: null } });
    expect(gateway.calls.map((each) => each.split(" ")[0])).toEqual([
      "auditBounds",
      "auditBounds",
      "export",
      "export",
      "export",
    ]);
  });

  it("[L3] an export whose later page fails is broken off, never short", async () => {
    const { call, gateway } = await withThread();
    for (const text of ["a", "b", "c"])
      await call("POST", `${THREAD}/messages`, { json: { text } });
    const response = await call("GET", `${THREAD}/export`);
    gateway.throwNext = new Error("reset");
    await expect(response.text()).rejects.toThrow();
  });

  it("[L4] erasing reaches the object once, with the seq of the path", async () => {
    const { call, gateway } = await withThread();
    expect(await (await call("POST", `${THREAD}/events/2/erase`)).json()).toEqual({ erased: 1 });
    expect(gateway.threads.get("v1/acme/analyst/t1")?.erased).toEqual([2]);
  });
});
