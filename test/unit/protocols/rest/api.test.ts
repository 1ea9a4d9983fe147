/** The API as a client meets it: documents, errors, idempotency and streams. */
import { describe, expect, it } from "vitest";
import { AppError } from "#shared/errors.ts";
import { THREAD, createTestApp, keyText, problemOf } from "#test/support/test-app.ts";

describe("errors", () => {
  it.each([
    ["GET", "/nothing", 404, "not_found"],
    ["GET", "/v1/nothing", 404, "not_found"],
    ["GET", "/v1/agents/nobody", 404, "agent_unknown"],
    ["POST", "/v1/agents/nobody/threads", 404, "agent_unknown"],
    ["DELETE", "/v1/agents", 405, "method_not_allowed"],
    ["PATCH", THREAD, 405, "method_not_allowed"],
    ["POST", `${THREAD}/export`, 405, "method_not_allowed"],
    ["POST", `${THREAD}/files/a.txt`, 405, "method_not_allowed"],
    ["POST", "/healthz", 405, "method_not_allowed"],
    ["GET", "/v1/agents?limit=3", 400, "invalid_request"],
    ["GET", `${THREAD}/runs?limit=0`, 400, "invalid_request"],
    ["GET", `${THREAD}/runs?limit=1e2`, 400, "invalid_request"],
    ["GET", `${THREAD}/runs?after=-1`, 400, "invalid_request"],
    ["GET", `${THREAD}/runs?limit=`, 400, "invalid_request"],
    ["GET", `${THREAD}/runs?limit=201`, 400, "invalid_request"],
    ["POST", `${THREAD}/events/0/erase`, 404, "not_found"],
    ["POST", `${THREAD}/events/x/erase`, 404, "not_found"],
  ])("[P1] %s %s is a problem: %d %s", async (method, path, status, code) => {
    const { call } = createTestApp();
    const response = await call(method, path);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const body = await response.json<Record<string, unknown>>();
    expect(body).toMatchObject({ status, code, requestId: response.headers.get("x-request-id") });
    expect(response.status).toBe(status);
  });

  it("[P1] 405 and OPTIONS name the methods there are", async () => {
    const { call } = createTestApp();
    const wrong = await call("PATCH", `${THREAD}/files/a.txt`);
    expect(wrong.headers.get("allow")).toBe("DELETE, GET, HEAD, OPTIONS, PUT");
    const options = await call("OPTIONS", `${THREAD}/messages`);
    expect([options.status, options.headers.get("allow")]).toEqual([
      204,
      "GET, HEAD, OPTIONS, POST",
    ]);
    expect(options.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("[P1] a defect is 500 `internal`: no message, stack or cause of it leaves, and all of it is logged", async () => {
    const { call, gateway, logged } = createTestApp();
    gateway.throwNext = new TypeError("cannot read hunter2 of undefined", {
      cause: new Error("deeper hunter3"),
    });
    const response = await call("GET", THREAD);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ status: 500, code: "internal" });
    expect(text).not.toMatch(/hunter|TypeError|\.ts|at /);
    expect(logged.at(-1)?.reason).toContain("hunter2");
    expect(logged.at(-1)?.reason).toContain("hunter3");
  });

  it.each([
    ["a typed failure", new AppError("unavailable", "10.0.0.1 refused", { retryable: true })],
    ["an object that was reset", Object.assign(new Error("reset"), { durableObjectReset: true })],
    [
      "an overloaded object",
      Object.assign(new Error("too many"), { overloaded: true, remote: true }),
    ],
  ])("[P1] %s is 503 and says when to try again", async (_name, error) => {
    const { call, gateway } = createTestApp();
    gateway.throwNext = error;
    const response = await call("GET", THREAD);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await problemOf(response)).toMatchObject({
      code: "unavailable",
      retryable: true,
      detail: "The service is not available; try again.",
    });
  });

  it("[P1] every response carries an id and the headers that keep a browser from running it", async () => {
    const { call, logged } = createTestApp();
    for (const path of [
      "/",
      "/healthz",
      "/nothing",
      "/v1/agents",
      "/v1/openapi.json",
      "/v1/reference",
    ]) {
      const { headers } = await call("GET", path);
      expect(headers.get("x-request-id")).toBe(logged.at(-1)?.requestId);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("content-security-policy")).not.toMatch(/script-src[^;]*unsafe/);
    }
  });

  it("[P1] the request log holds no path, query, body or credential", async () => {
    const { call, logged } = createTestApp();
    await call("PUT", `${THREAD}/files/ada-lovelace.csv`, { body: "content-canary" });
    await call("POST", `${THREAD}/messages`, { json: { text: "text-canary" } });
    await call("GET", `${THREAD}/files?prefix=query-canary`);
    expect(JSON.stringify(logged)).not.toMatch(/canary|ada|hf_|threads\/t1/);
    expect(logged.map(({ route }) => route)).toEqual([
      "/v1/agents/{agent}/threads/{thread}/files/{path}",
      "/v1/agents/{agent}/threads/{thread}/messages",
      "/v1/agents/{agent}/threads/{thread}/files",
    ]);
    expect(logged[0]).toMatchObject({
      tenant: "acme",
      principal: "key_a",
      method: "PUT",
      status: 200,
      code: null,
      reason: null,
    });
  });
});

describe("bodies", () => {
  it.each([
    ["an unknown field", { text: "x", txet: "y" }, "/txet"],
    [
      "a nested unknown field",
      { text: "x", output: { name: "n", schema: {}, strict: true } },
      "/output/strict",
    ],
    ["a field named __proto__", JSON.parse('{"text":"x","__proto__":{"a":1}}'), "/__proto__"],
    ["a missing field", {}, "/text"],
    ["a wrong type", { text: 7 }, "/text"],
    ["a blank text", { text: " \n" }, "/text"],
    ["a text beyond 200 KB in bytes", { text: "€".repeat(66_667) }, "/text"],
    ["an unknown delivery", { text: "x", delivery: "shout" }, "/delivery"],
    ["a message id outside the alphabet", { text: "x", messageId: "a/b" }, "/messageId"],
    ["not an object", ["x"], ""],
    ["null", null, ""],
  ])("[P6] %s is refused, naming its path", async (_name, json, path) => {
    const { call, gateway } = createTestApp();
    const response = await call("POST", `${THREAD}/messages`, { json });
    expect(response.status).toBe(400);
    expect(await problemOf(response)).toMatchObject({
      code: "invalid_request",
      context: { issues: [{ path, message: expect.any(String) }] },
    });
    expect(gateway.calls).toEqual([]);
  });

  it("[P6] what was sent is not sent back", async () => {
    const { call } = createTestApp();
    const response = await call("POST", `${THREAD}/messages`, {
      json: { text: "x", delivery: "hunter2", messageId: "hunter 3" },
    });
    expect(await response.text()).not.toContain("hunter");
  });

  it("[P6] a state beyond a megabyte is `state_too_large` and leaves the old one (handed case B16)", async () => {
    const { call } = createTestApp();
    await call("POST", `${THREAD}/messages`, { json: { text: "x" } });
    await call("PUT", `${THREAD}/state`, { json: { a: 1 } });
    const response = await call("PUT", `${THREAD}/state`, { json: "€".repeat(900_000) });
    expect(response.status).toBe(413);
    expect(await problemOf(response)).toMatchObject({ code: "state_too_large" });
    expect(await (await call("GET", `${THREAD}/state`)).json()).toEqual({ a: 1 });
  });

  it("[P6] optional bodies may be left out, and a malformed one is still refused", async () => {
    const { call } = createTestApp();
    expect((await call("POST", "/v1/agents/analyst/threads")).status).toBe(201);
    expect(
      (
        await call("POST", "/v1/agents/analyst/threads", {
          body: "{",
          headers: { "content-type": "application/json" },
        })
      ).status,
    ).toBe(400);
    expect((await call("POST", "/v1/agents/analyst/threads", { body: "title=x" })).status).toBe(
      400,
    );
  });
});

describe("idempotency", () => {
  const key = { "idempotency-key": "k-1" };

  it("[K2] the same message under one key is one message with one receipt; another body is refused", async () => {
    const { call, gateway } = createTestApp();
    const send = (text: string) =>
      call("POST", `${THREAD}/messages`, { json: { text }, headers: key });
    const first = await (await send("one")).json();
    expect(await (await send("one")).json()).toEqual(first);
    const other = await send("two");
    expect(other.status).toBe(409);
    expect(await problemOf(other)).toMatchObject({ code: "idempotency_conflict" });
    expect(gateway.threads.get("v1/acme/analyst/t1")?.texts).toEqual(["one"]);
  });

  it("[K2] the same message id is the same message", async () => {
    const { call, gateway } = createTestApp();
    const send = () =>
      call("POST", `${THREAD}/messages`, { json: { text: "one", messageId: "m1" } });
    expect(await (await send()).json()).toEqual(await (await send()).json());
    expect(gateway.threads.get("v1/acme/analyst/t1")?.texts).toHaveLength(1);
  });

  it("[K2] creating without an id twice under one key is one thread; per principal, agent and key", async () => {
    const { call, mint, gateway } = createTestApp();
    const create = async (as: string, json: unknown = {}) =>
      call("POST", "/v1/agents/analyst/threads", { as, json, headers: key });
    const u1 = await mint("u1");
    const first = await create(u1);
    const again = await create(u1);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect((await create(u1, { title: "other" })).status).toBe(409);
    const other = await create(await mint("u2"));
    expect(other.headers.get("location")).not.toBe(first.headers.get("location"));
    expect(gateway.threads.size).toBe(2);
  });

  it("[K2] files and state take a key too", async () => {
    const { call, gateway } = createTestApp();
    for (const body of ["one", "one"]) {
      expect((await call("PUT", `${THREAD}/files/a.txt`, { body, headers: key })).status).toBe(200);
    }
    expect((await call("PUT", `${THREAD}/files/a.txt`, { body: "two", headers: key })).status).toBe(
      409,
    );
    expect(gateway.threads.get("v1/acme/analyst/t1")?.seq).toBe(2);
  });

  it.each([" ", "a".repeat(129), "\u00e9"])(
    "[K2] a key that is no key is refused: %j",
    async (value) => {
      const { call, gateway } = createTestApp();
      const response = await call("POST", `${THREAD}/messages`, {
        json: { text: "x" },
        headers: { "idempotency-key": value },
      });
      expect(response.status).toBe(400);
      expect(gateway.calls).toEqual([]);
    },
  );
});

describe("messages", () => {
  it("[K1] a message is accepted with where to find its run and its stream", async () => {
    const { call } = createTestApp();
    const response = await call("POST", `${THREAD}/messages`, { json: { text: "hello" } });
    expect([response.status, response.headers.get("location")]).toEqual([
      202,
      `${THREAD}/runs/run_1`,
    ]);
    expect(await response.json()).toEqual({
      seq: 2,
      runId: "run_1",
      messageId: "msg_1",
      disposition: "started",
      agent: "analyst",
      thread: "t1",
      run: `${THREAD}/runs/run_1`,
      stream: `${THREAD}/events?from=2&run=run_1`,
    });
  });
});

describe("waiting for the directory", () => {
  it("[Z7] once a thread exists and a key is known, no request but a list asks D1", async () => {
    const { call, directory, keys, addKey } = createTestApp();
    addKey(keyText("w"));
    const as = keyText("w");
    await call("POST", `${THREAD}/messages`, { as, json: { text: "x" } });
    directory.calls = 0;
    keys.lookups = 0;
    await call("POST", `${THREAD}/messages`, { as, json: { text: "y" } });
    await call("PUT", `${THREAD}/files/a.txt`, { as, body: "x" });
    await call("PUT", `${THREAD}/state`, { as, json: {} });
    for (const path of ["", "/messages", "/runs", "/events", "/files", "/files/a.txt", "/export"])
      await call("GET", THREAD + path, { as });
    expect([directory.calls, keys.lookups]).toEqual([0, 0]);
  });
});
