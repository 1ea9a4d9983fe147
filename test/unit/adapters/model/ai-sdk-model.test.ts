import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ModelPart, PromptMessage } from "#ports/model.ts";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import { toRequest } from "#test/support/scripted-session.ts";

const USER: PromptMessage = { role: "user", content: [{ type: "text", text: "hello" }] };
const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
  outputTokens: { total: 7, text: 4, reasoning: 3 },
};
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"];
const finish = (unified: Finish): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: `raw-${unified}` },
  usage: USAGE,
});

function mock(parts: readonly LanguageModelV4StreamPart[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    provider: "p",
    modelId: "m",
    doStream: async () => ({
      stream: toStream(parts),
      response: { headers: { "cf-aig-run-id": "run1", "set-cookie": "no" } },
    }),
  });
}

function toStream(
  parts: readonly LanguageModelV4StreamPart[],
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

async function read(
  model: MockLanguageModelV4,
  messages: readonly PromptMessage[] = [USER],
): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = [];
  const subject = new AiSdkModel({ route: "r", model });
  for await (const part of subject.stream(toRequest(messages), {
    signal: new AbortController().signal,
    idempotencyKey: "evt_1",
  }))
    parts.push(part);
  return parts;
}

describe("AiSdkModel", () => {
  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content-filter", "content_filter"],
    ["tool-calls", "tool_calls"],
    ["other", "other"],
  ] as const)(
    "[model M2] finish %s is %s, with the raw reason and nested usage",
    async (unified, reason) => {
      expect((await read(mock([finish(unified)]))).at(-1)).toEqual({
        type: "finish",
        reason,
        raw: `raw-${unified}`,
        usage: {
          inputTokens: 10,
          cachedInputTokens: 5,
          cacheWriteTokens: 1,
          outputTokens: 7,
          reasoningTokens: 3,
        },
      });
    },
  );

  it.each([
    ["error", "stream_error"],
    ["interrupted", "stream_incomplete"],
  ] as const)(
    "[model M2] a finish of %s is the error %s and keeps its usage",
    async (unified, code) => {
      expect((await read(mock([finish(unified)]))).at(-1)).toMatchObject({
        type: "error",
        code,
        usage: { outputTokens: 7 },
      });
    },
  );

  it("[model M2] nothing follows an error part", async () => {
    const parts = await read(
      mock([
        { type: "error", error: "broken" },
        { type: "text-delta", id: "1", delta: "late" },
        finish("stop"),
      ]),
    );
    expect(parts.filter((part) => part.type !== "meta")).toMatchObject([
      { type: "error", code: "stream_error" },
    ]);
  });

  it("[model M3] tool input without a call is not made into one, and a call that the provider ran is not ours", async () => {
    const parts = await read(
      mock([
        { type: "tool-input-start", id: "c1", toolName: "write" },
        { type: "tool-input-delta", id: "c1", delta: "{}" },
        { type: "tool-input-end", id: "c1" },
        {
          type: "tool-call",
          toolCallId: "c2",
          toolName: "web_search",
          input: "{}",
          providerExecuted: true,
        },
        finish("tool-calls"),
      ]),
    );
    expect(parts.some((part) => part.type === "call")).toBe(false);
  });

  it("[model M2] metadata of reasoning and of calls comes back to the same model byte for byte", async () => {
    const signature = { p: { signature: "c2ln==\u00e9", nested: { a: [1, null, "x"] } } };
    const thought = { p: { thoughtSignature: "abc" } };
    const model = mock([
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "I " },
      { type: "reasoning-delta", id: "r", delta: "think" },
      { type: "reasoning-end", id: "r", providerMetadata: signature },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "read",
        input: "{}",
        providerMetadata: thought,
      },
      finish("tool-calls"),
    ]);
    const parts = await read(model);
    const reasoning = parts.filter((part) => part.type === "reasoning");
    expect(reasoning.map(({ text }) => text)).toEqual(["I ", "think", "", ""]);
    const [block, beforeCall] = reasoning.filter(({ meta }) => meta !== null);
    await read(model, [
      USER,
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "I think", meta: block?.meta ?? null },
          { type: "reasoning", text: "", meta: beforeCall?.meta ?? null },
          { type: "call", callId: "ours", name: "read", args: {} },
        ],
      },
      {
        role: "tool",
        content: [{ type: "result", callId: "ours", name: "read", output: "x", isError: false }],
      },
    ]);
    expect(
      model.doStreamCalls[1]?.prompt.find(({ role }) => role === "assistant")?.content,
    ).toEqual([
      { type: "reasoning", text: "I think", providerOptions: signature },
      {
        type: "tool-call",
        toolCallId: "ours",
        toolName: "read",
        input: {},
        providerOptions: thought,
      },
    ]);
  });

  it("[model M5] of the response headers only ids are kept", async () => {
    const [first] = await read(mock([finish("stop")]));
    expect(first).toEqual({ type: "meta", meta: { headers: { "cf-aig-run-id": "run1" } } });
  });

  it("[model M4] a reader that stops early cancels upstream", async () => {
    let cancelled = 0;
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => controller.enqueue({ type: "text-delta", id: "1", delta: "a" }),
      cancel: () => void (cancelled += 1),
    });
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream }) });
    const subject = new AiSdkModel({ route: "r", model });
    for await (const part of subject.stream(toRequest([USER]), {
      signal: new AbortController().signal,
      idempotencyKey: "k",
    }))
      if (part.type === "text") break;
    expect(cancelled).toBe(1);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
  });
});

describe("AiSdkModel, silence", () => {
  const IDLE_MS = 1_000;
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A provider whose parts come when the test says so. */
  function spoken() {
    vi.useFakeTimers();
    let speak: ReadableStreamDefaultController<LanguageModelV4StreamPart> | null = null;
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        speak = controller;
      },
    });
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream }) });
    const subject = new AiSdkModel({ route: "r", model, idleTimeoutMs: IDLE_MS });
    const options = { signal: new AbortController().signal, idempotencyKey: "evt_1" };
    const parts = subject.stream(toRequest([USER]), options);
    return {
      next: () => parts.next(),
      say: (delta: string) => speak?.enqueue({ type: "text-delta", id: "t", delta }),
    };
  }

  it("[model M4] is counted from the newest part, however long the answer takes", async () => {
    const { next, say } = spoken();
    for (const word of ["one", "two", "three", "four"]) {
      const part = next();
      await vi.advanceTimersByTimeAsync(IDLE_MS - 300);
      say(word);
      await expect(part).resolves.toMatchObject({ value: { type: "text", text: word } });
    }
    const end = next();
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    await expect(end).resolves.toMatchObject({ value: { type: "error", code: "timeout" } });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("[model M4] is the provider's: a reader that takes its time ends nothing, and silence after it still does", async () => {
    const { next, say } = spoken();
    const first = next();
    await vi.advanceTimersByTimeAsync(0);
    say("one");
    await first;
    await vi.advanceTimersByTimeAsync(IDLE_MS * 3);
    say("two");
    await expect(next()).resolves.toMatchObject({ value: { type: "text", text: "two" } });
    const end = next();
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    await expect(end).resolves.toMatchObject({ value: { type: "error", code: "timeout" } });
    expect(vi.getTimerCount()).toBe(0);
  });
});
