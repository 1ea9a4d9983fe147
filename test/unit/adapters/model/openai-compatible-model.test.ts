import { describe, expect, it } from "vitest";
import type { ModelPart, ModelRequest, PromptMessage } from "#ports/model.ts";
import { OpenAiCompatibleModel } from "#adapters/model/openai-compatible-model.ts";
import { type ProviderStub, type Reply, startProviderStub } from "#test/support/provider-stub.ts";
import { toRequest } from "#test/support/scripted-session.ts";

const KEY = "sk-test-0123456789abcdef";
const USER: PromptMessage = { role: "user", content: [{ type: "text", text: "hello" }] };
const OK: Reply = { frames: [{ text: "ok" }, { finish: "stop" }] };

function modelOf(stub: ProviderStub, idleTimeoutMs?: number): OpenAiCompatibleModel {
  const idle = idleTimeoutMs === undefined ? {} : { idleTimeoutMs };
  return new OpenAiCompatibleModel({
    baseUrl: stub.baseUrl,
    apiKey: KEY,
    name: "stub",
    modelId: "m",
    route: "openai-compatible/m",
    ...idle,
  });
}

async function play(
  reply: Reply,
  request: ModelRequest = toRequest([USER]),
): Promise<readonly ModelPart[]> {
  await using stub = await startProviderStub();
  stub.play(reply);
  return await collect(modelOf(stub), request);
}

async function collect(model: OpenAiCompatibleModel, request: ModelRequest): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, {
    signal: new AbortController().signal,
    idempotencyKey: "evt_1",
  }))
    parts.push(part);
  return parts;
}

const textOf = (parts: readonly ModelPart[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");

describe("OpenAiCompatibleModel, ends of a stream (A13)", () => {
  const content = 'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n';
  const last = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}';

  it.each([
    ["no newline at all", ""],
    ["one newline", "\n"],
    ["a carriage return and newline", "\r\n"],
  ])("[model M2] a terminal frame followed by %s is parsed", async (_, end) => {
    const parts = await play({ frames: [{ raw: `${content}${last}${end}` }] });
    expect(textOf(parts)).toBe("ok");
    expect(parts.at(-1)).toMatchObject({ type: "finish", reason: "stop", raw: "stop" });
  });

  it("[model M2] a terminal frame that was cut in the middle is not taken for an end", async () => {
    const parts = await play({ frames: [{ raw: `${content}${last.slice(0, -4)}` }] });
    expect(parts.at(-1)).toMatchObject({
      type: "error",
      code: "stream_incomplete",
      retryable: true,
    });
  });

  it("[model M2] a stream that ends in the middle of a call fails, so the call is never run", async () => {
    const parts = await play({
      frames: [{ call: { id: "c1", name: "charge", args: '{"n":' } }],
      done: false,
    });
    expect(parts.at(-1)).toMatchObject({ type: "error", code: "stream_incomplete" });
  });

  it("[model M2] a reset connection is stream_incomplete", async () => {
    const parts = await play({ frames: [{ text: "half" }, { reset: true }] });
    expect(textOf(parts)).toBe("half");
    expect(parts.at(-1)).toMatchObject({
      type: "error",
      code: "stream_incomplete",
      retryable: true,
    });
  });

  it("[model M2] an error object inside a stream of status 200 ends it", async () => {
    const parts = await play({
      frames: [
        { text: "half" },
        { error: { message: "Overloaded", type: "overloaded_error" } },
        { text: "more" },
      ],
    });
    expect(textOf(parts)).toBe("half");
    expect(parts.at(-1)).toMatchObject({ type: "error", code: "overloaded", retryable: true });
  });

  it("[model M4] a silent connection is given up as timeout, and upstream is left", async () => {
    await using stub = await startProviderStub();
    stub.play({ frames: [{ text: "half" }, { hang: true }] });
    const parts = await collect(modelOf(stub, 50), toRequest([USER]));
    expect(parts.at(-1)).toMatchObject({ type: "error", code: "timeout", retryable: true });
    await expect.poll(() => stub.abandoned(), { timeout: 2000 }).toBe(1);
  });
});

describe("OpenAiCompatibleModel, failures", () => {
  it.each([
    [
      { status: 429, headers: { "retry-after": "7" } },
      { code: "rate_limited", retryable: true, retryAfterMs: 7000 },
    ],
    [
      {
        status: 429,
        body: { error: { message: "You exceeded your current quota", code: "insufficient_quota" } },
      },
      { code: "rate_limited", retryable: false },
    ],
    [{ status: 500 }, { code: "overloaded", retryable: true }],
    [{ status: 529 }, { code: "overloaded", retryable: true }],
    [{ status: 504 }, { code: "timeout", retryable: true }],
    [
      { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}` } } },
      { code: "unauthorized", retryable: false },
    ],
    [{ status: 403 }, { code: "unauthorized", retryable: false }],
    [
      { status: 404, body: { error: { message: 'model "m" not found' } } },
      { code: "invalid_request", retryable: false },
    ],
    [{ status: 422 }, { code: "invalid_request", retryable: false }],
    [
      {
        status: 400,
        body: {
          error: {
            message: "This model's maximum context length is 8192 tokens.",
            code: "context_length_exceeded",
          },
        },
      },
      { code: "context_overflow", retryable: false },
    ],
  ] satisfies readonly (readonly [Reply, object])[])("[model M5] %j", async (reply, expected) => {
    const parts = await play(reply);
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatchObject({ type: "error", ...expected });
    expect(JSON.stringify(parts)).not.toContain(KEY);
  });

  it("[model M5] nobody listening is unavailable", async () => {
    const stub = await startProviderStub();
    const model = modelOf(stub);
    await stub[Symbol.asyncDispose]();
    expect(await collect(model, toRequest([USER]))).toMatchObject([
      { type: "error", code: "unavailable", retryable: true },
    ]);
  });
});

describe("OpenAiCompatibleModel, what is sent and recorded", () => {
  it("[model M1] a history of parallel calls with results is accepted, and the intent's id is sent", async () => {
    await using stub = await startProviderStub();
    stub.play(OK);
    const call = (callId: string) => ({
      type: "call" as const,
      callId,
      name: "read",
      args: { path: callId },
    });
    const result = (callId: string, isError: boolean) => ({
      type: "result" as const,
      callId,
      name: "read",
      output: "(no output)",
      isError,
    });
    const parts = await collect(
      modelOf(stub),
      toRequest([
        USER,
        { role: "assistant", content: [call("a"), call("b")] },
        { role: "tool", content: [result("a", false), result("b", true)] },
      ]),
    );
    expect(stub.refused).toEqual([]);
    expect(parts.at(-1)).toMatchObject({ type: "finish" });
    expect(stub.requests).toHaveLength(1);
    expect(stub.requests[0]?.headers["idempotency-key"]).toBe("evt_1");
    expect(stub.requests[0]?.body["messages"]).toMatchObject([
      { role: "system", content: "Answer." },
      { role: "user", content: "hello" },
      {
        role: "assistant",
        tool_calls: [
          { id: "a", function: { name: "read", arguments: '{"path":"a"}' } },
          { id: "b" },
        ],
      },
      { role: "tool", tool_call_id: "a" },
      { role: "tool", tool_call_id: "b" },
    ]);
  });

  it("[model M1] the stub refuses histories that providers refuse", async () => {
    await using stub = await startProviderStub();
    stub.play(OK);
    const orphan: PromptMessage = {
      role: "tool",
      content: [{ type: "result", callId: "x", name: "read", output: "x", isError: false }],
    };
    for (const messages of [
      [USER, orphan],
      [{ role: "user" as const, content: [{ type: "text" as const, text: " " }] }],
      [{ role: "user" as const, content: [{ type: "text" as const, text: "\ud83d" }] }],
    ]) {
      expect(await collect(modelOf(stub), toRequest(messages))).toMatchObject([
        { type: "error", code: "invalid_request" },
      ]);
    }
    expect(stub.refused).toHaveLength(3);
  });

  it("[model M2] usage is nested into ours, and null where the provider gave none", async () => {
    const finish = async (reply: Reply) => (await play(reply)).at(-1);
    expect(
      await finish({
        frames: [{ text: "ok" }, { finish: "length" }, { usage: { input: 9, output: 4 } }],
      }),
    ).toMatchObject({
      reason: "length",
      usage: { inputTokens: 9, outputTokens: 4 },
    });
    expect(await finish(OK)).toMatchObject({ usage: { inputTokens: null, outputTokens: null } });
  });

  it("[model M2] [K24] reasoning goes back with its calls to the model it came from, and to no other", async () => {
    await using stub = await startProviderStub();
    stub.play({ frames: [{ reasoning: "think" }, { text: "ok" }, { finish: "stop" }] });
    const parts = await collect(modelOf(stub), toRequest([USER]));
    const closing = parts.find((part) => part.type === "reasoning" && part.meta !== null);
    if (closing?.type !== "reasoning") throw new Error("no reasoning was closed");
    const history = (meta: typeof closing.meta): readonly PromptMessage[] => [
      USER,
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "think", meta },
          { type: "call", callId: "call_1", name: "look", args: {} },
        ],
      },
      {
        role: "tool",
        content: [{ type: "result", callId: "call_1", name: "look", output: "ok", isError: false }],
      },
    ];
    stub.play(OK);
    await collect(modelOf(stub), toRequest(history(closing.meta)));
    await collect(
      modelOf(stub),
      toRequest(history({ origin: "other/model", part: null, nextCall: null })),
    );
    expect(
      stub.requests.slice(1).map(({ body }) => JSON.stringify(body).includes("reasoning_content")),
    ).toEqual([true, false]);
  });

  it("[model M1] a schema is asked for natively", async () => {
    await using stub = await startProviderStub();
    stub.play(OK);
    const schema = { type: "object", properties: { n: { type: "number" } } };
    await collect(modelOf(stub), toRequest([USER], { output: { name: "answer", schema } }));
    expect(stub.requests[0]?.body["response_format"]).toMatchObject({
      type: "json_schema",
      json_schema: { schema, name: "answer" },
    });
  });
});
