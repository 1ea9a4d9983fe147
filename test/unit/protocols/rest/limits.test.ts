/** Limits of callers over HTTP: how often, how many runs, and how slowly a body may come. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { BODY_STALL_MS, readBytes } from "#protocols/rest/body.ts";
import { createTestApp, keyText, THREAD } from "#test/support/test-app.ts";

afterEach(() => void vi.useRealTimers());

/** A body that says whether it was ever asked for. */
function untouched() {
  let pulled = 0;
  const body = new ReadableStream({ pull: () => void (pulled += 1) }, { highWaterMark: 0 });
  return { init: { body, duplex: "half" } as RequestInit, pulled: () => pulled };
}

describe("callers", () => {
  it("[P40] too many requests are refused before a body is read, until time has passed", async () => {
    const { app, call, clock } = createTestApp({
      rates: { requestsPerMinute: 2, runsPerMinute: null },
    });
    for (let n = 0; n < 2; n += 1) expect((await call("GET", "/v1/agents")).status).toBe(200);
    const { init, pulled } = untouched();
    const headers = {
      authorization: `Bearer ${keyText("a")}`,
      "content-type": "application/json",
    };
    const refused = await app.request(`${THREAD}/messages`, { method: "POST", headers, ...init });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("30");
    expect(await refused.json()).toMatchObject({
      code: "rate_limited",
      retryable: true,
      context: { retryAfterSeconds: 30 },
    });
    expect(pulled()).toBe(0);
    expect((await call("GET", "/v1/agents", { as: keyText("z") })).status).toBe(200);
    clock.advance(30_000);
    expect((await call("GET", "/v1/agents")).status).toBe(200);
  });

  it("[P40] what cannot be authenticated takes nothing from anybody", async () => {
    const { call } = createTestApp({ rates: { requestsPerMinute: 1, runsPerMinute: null } });
    for (let n = 0; n < 5; n += 1) {
      expect((await call("GET", "/v1/agents", { as: keyText("q") })).status).toBe(401);
    }
    expect((await call("GET", "/v1/agents")).status).toBe(200);
  });

  it("[P41] messages, regenerations and edits share one limit of runs; reading goes on", async () => {
    const { call, gateway } = createTestApp({
      rates: { requestsPerMinute: null, runsPerMinute: 3 },
    });
    const send = () => call("POST", `${THREAD}/messages`, { json: { text: "hello" } });
    expect((await send()).status).toBe(202);
    expect((await call("POST", `${THREAD}/messages/msg_1/regenerate`)).status).toBe(202);
    const edit = { json: { text: "hi" } };
    expect((await call("POST", `${THREAD}/messages/msg_1/edit`, edit)).status).toBe(202);
    const before = gateway.calls.length;
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("20");
    expect(gateway.calls).toHaveLength(before);
    expect((await call("GET", `${THREAD}/runs`)).status).toBe(200);
  });
});

describe("the same limit, whatever the protocol", () => {
  const MCP = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "start_run", arguments: { message: "hello" } },
  };
  const begun = [
    ["OpenAI", "/openai/v1/responses", { model: "analyst", input: "hello", background: true }],
    ["AG-UI", "/ag-ui/analyst", { threadId: "t1", runId: "r1", messages: [] }],
    ["MCP", "/mcp/analyst", MCP],
  ] as const;

  it.each(begun)(
    "[P41] %s: a run too many is refused and reaches no thread",
    async (_, path, json) => {
      const { call, gateway } = createTestApp({
        rates: { requestsPerMinute: null, runsPerMinute: 1 },
      });
      expect((await call("POST", `${THREAD}/messages`, { json: { text: "hello" } })).status).toBe(
        202,
      );
      const before = gateway.calls.length;
      const headers = { accept: "application/json, text/event-stream", host: "localhost" };
      const refused = await call("POST", path, { json, headers });
      expect(`${refused.status} ${await refused.text()}`).toMatch(/429|rate_limited/);
      expect(gateway.calls).toHaveLength(before);
    },
  );
});

describe("slow bodies", () => {
  const LIMIT = { maxBytes: 1_000, code: "body_too_large" } as const;
  const post = (body: ReadableStream): Request =>
    new Request("http://x/", { method: "POST", body, duplex: "half" } as RequestInit);

  it("[P42] one that stops is given up and cancelled, even when its source cannot end", async () => {
    vi.useFakeTimers();
    let cancelled = false;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(1)),
      cancel: () => {
        cancelled = true;
        return new Promise<void>(() => {});
      },
    });
    const read = readBytes(post(body), LIMIT);
    await vi.advanceTimersByTimeAsync(BODY_STALL_MS);
    expect(await read).toMatchObject({
      ok: false,
      error: { code: "request_timeout", retryable: true },
    });
    expect(cancelled).toBe(true);
  });

  it("[P42] one that keeps coming is read to its end, and leaves no timer", async () => {
    vi.useFakeTimers();
    let sent = 0;
    const body = new ReadableStream({
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, BODY_STALL_MS - 1));
        sent += 1;
        controller.enqueue(new Uint8Array(1));
        if (sent === 3) controller.close();
      },
    });
    const read = readBytes(post(body), LIMIT);
    await vi.advanceTimersByTimeAsync(BODY_STALL_MS * 4);
    expect(await read).toMatchObject({ ok: true, value: new Uint8Array(3) });
    expect(vi.getTimerCount()).toBe(0);
  });
});
