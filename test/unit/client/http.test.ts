/** Requests of the client against a scripted fetch: what is repeated, after which pause, and what is thrown at once. */
import { describe, expect, it } from "vitest";
import { Holdfast } from "#client/client.ts";
import { HoldfastError } from "#client/errors.ts";
import { json, problem, scripted, type Step } from "#test/support/scripted-fetch.ts";

const RECEIPT = { seq: 3, runId: "run_1", messageId: "m", disposition: "started" };
const down = (): Error => new TypeError("fetch failed");

async function failureOf(work: Promise<unknown>): Promise<HoldfastError> {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof HoldfastError)) throw new Error(`not a HoldfastError: ${String(error)}`);
  return error;
}
function clientOf(steps: readonly Step[], over: object = {}) {
  const port = scripted(steps);
  return { ...port, client: new Holdfast({ ...port.options, ...over }) };
}

describe("requests of the client", () => {
  it("[P111] a write whose answer was lost is sent again as the same request", async () => {
    const { client, asked } = clientOf([
      down(),
      new Response("", { status: 502 }),
      json(RECEIPT, 202),
    ]);
    const run = await client.agent("analyst").thread("t").send("hello", { delivery: "steer" });
    expect(run.id).toBe("run_1");
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
    expect(asked[0]).toMatchObject({
      method: "POST",
      url: "http://holdfast.test/v1/agents/analyst/threads/t/messages",
      body: JSON.stringify({ text: "hello", delivery: "steer", output: null }),
    });
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer hf_test");
  });

  it("[P111] two sends are two requests, and a caller's own key is taken", async () => {
    const { client, asked } = clientOf([json(RECEIPT), json(RECEIPT), json(RECEIPT)]);
    const thread = client.agent("analyst").thread("t");
    await thread.send("a");
    await thread.send("a");
    await thread.send("a", { idempotencyKey: "order-7" });
    const keys = asked.map(({ headers }) => headers.get("idempotency-key"));
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe("order-7");
  });

  it.each([429, 503])(
    "[P114] %d is asked again after the pause that the server names",
    async (status) => {
      const passing = problem("rate_limited", status, { retryable: true }, { "retry-after": "7" });
      const { client, pauses } = clientOf([passing, json({ items: [] })]);
      expect(await client.agents()).toEqual([]);
      expect(pauses).toEqual([7_000]);
    },
  );

  it("[P114] a proxy's 503 without a word is asked again with growing pauses, as an unreachable server", async () => {
    const { client, pauses } = clientOf([
      down(),
      new Response("starting", { status: 503 }),
      new Response("", { status: 504 }),
      json({ items: [] }),
    ]);
    await client.agents();
    expect(pauses).toHaveLength(3);
    for (const [at, most] of [250, 500, 1_000].entries()) {
      expect(pauses[at]).toBeLessThanOrEqual(most);
      expect(pauses[at]).toBeGreaterThanOrEqual(most * 0.75);
    }
  });

  it.each([
    ["queue_full", 429, { "retry-after": "1" }, {}],
    ["config_invalid", 500, {}, { retryable: true }],
    ["migration_failed", 503, {}, {}],
    ["rate_limited", 429, { "retry-after": "3600" }, { retryable: true }],
  ])(
    "[P114] %s, which will not pass soon, is thrown at once",
    async (code, status, headers, over) => {
      const { client, asked } = clientOf([problem(code, status, over, headers)]);
      expect((await failureOf(client.agents())).code).toBe(code);
      expect(asked).toHaveLength(1);
    },
  );

  it("[P114] attempts are bounded", async () => {
    const steps = [down(), down(), down()];
    const { client, asked } = clientOf(steps, { retry: { attempts: 3 } });
    const error = await failureOf(client.agents());
    expect(error).toMatchObject({ code: "unreachable", status: 0, retryable: true });
    expect(asked).toHaveLength(3);
  });

  it("[P115] an error has the server's code, words and context", async () => {
    const context = { decision: "approved", decidedBy: "usr_1" };
    const { client } = clientOf([problem("approval_already_decided", 409, { context })]);
    const thread = client.agent("clerk").thread("t");
    expect(await failureOf(thread.decide("evt_1", { decision: "approve" }))).toMatchObject({
      name: "HoldfastError",
      code: "approval_already_decided",
      status: 409,
      message: "about approval_already_decided",
      requestId: "req_1",
      context,
    });
  });

  it.each([
    ["an error that is no problem document", new Response("<html>", { status: 404 })],
    ["a page where a document should be", new Response("<html>", { status: 200 })],
  ])("[P115] %s is invalid_response", async (_what, response) => {
    const { client } = clientOf([response]);
    expect((await failureOf(client.agents())).code).toBe("invalid_response");
  });

  it("[P116] an abort ends a request, and the pause before another", async () => {
    const reason = new Error("enough");
    const early = new AbortController();
    const hanging = clientOf(["hang"]);
    const pending = hanging.client.agents({ signal: early.signal });
    early.abort(reason);
    await expect(pending).rejects.toBe(reason);
    const late = new AbortController();
    const paused = clientOf([down(), json({})], {
      wait: (_ms: number, signal: AbortSignal) => {
        late.abort(reason);
        return Promise.reject(signal.reason);
      },
    });
    await expect(paused.client.agents({ signal: late.signal })).rejects.toBe(reason);
    expect(paused.asked).toHaveLength(1);
  });

  it("[P114] an attempt that is not answered in time counts as unreachable", async () => {
    const { client, asked } = clientOf(["hang", json({ items: [] })], { timeoutMs: 5 });
    await client.agents();
    expect(asked).toHaveLength(2);
  });

  it("address and key are asked for at each attempt", async () => {
    let calls = 0;
    const { client, asked } = clientOf([down(), json({ items: [] })], {
      url: () => `http://holdfast.test:${(calls += 1)}`,
      key: async () => `key-${calls}`,
    });
    await client.agents();
    expect(asked.map(({ url }) => url)).toEqual([
      "http://holdfast.test:1/v1/agents",
      "http://holdfast.test:2/v1/agents",
    ]);
    expect(asked[1]?.headers.get("authorization")).toBe("Bearer key-2");
  });
});
