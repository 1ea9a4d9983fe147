import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import type { ModelRequest } from "#ports/model.ts";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import { ScriptedModel } from "#adapters/model/embedded/scripted-model.ts";
import { OpenAiCompatibleModel } from "#adapters/model/openai-compatible-model.ts";
import { type Frame, type Reply, startProviderStub } from "#test/support/provider-stub.ts";
import { toRequest } from "#test/support/scripted-session.ts";
import { MALFORMED, modelContract, type Scenario, SECRET } from "./model.ts";

const ask = (text: string): ModelRequest =>
  toRequest([{ role: "user", content: [{ type: "text", text }] }]);

const QUESTIONS: Readonly<Record<Scenario, string>> = {
  text: "hello",
  call: "how many rows?",
  malformed_call: `/tool write ${MALFORMED}`,
  hanging: "hello",
  cut: "",
  failing: "",
};
modelContract(
  "embedded/scripted",
  async (scenario) => ({
    model: new ScriptedModel(),
    request: ask(QUESTIONS[scenario]),
    attempts: () => 0,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  ["cut", "failing"],
);

modelContract("AiSdkModel", async (scenario) => {
  const model = new MockLanguageModelV4({
    doStream: async () => {
      if (scenario === "failing")
        throw Object.assign(new Error(`fetch failed with Bearer ${SECRET}`), {
          name: "AI_APICallError",
        });
      return { stream: toStream(V4_PARTS[scenario], scenario === "hanging") };
    },
  });
  return {
    model: new AiSdkModel({ route: "test/model", model, secrets: [SECRET] }),
    request: ask("hello"),
    attempts: () => model.doStreamCalls.length,
    [Symbol.asyncDispose]: async () => undefined,
  };
});

modelContract("OpenAiCompatibleModel", async (scenario) => {
  const stub = await startProviderStub();
  stub.play(REPLIES[scenario]);
  return {
    model: new OpenAiCompatibleModel({
      baseUrl: stub.baseUrl,
      apiKey: SECRET,
      name: "stub",
      modelId: "m",
      route: "openai-compatible/m",
    }),
    request: ask("hello"),
    attempts: () => stub.requests.length,
    [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose](),
  };
});

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const TEXT: readonly LanguageModelV4StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "The answer " },
  { type: "text-delta", id: "1", delta: "" },
  { type: "text-delta", id: "1", delta: "is" },
];
const finish = (unified: "stop" | "tool-calls"): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: USAGE,
});
const call = (input: string): LanguageModelV4StreamPart => ({
  type: "tool-call",
  toolCallId: "c1",
  toolName: "write",
  input,
});

const V4_PARTS: Readonly<
  Record<Exclude<Scenario, "failing">, readonly LanguageModelV4StreamPart[]>
> = {
  text: [...TEXT, { type: "text-end", id: "1" }, finish("stop")],
  call: [call('{"path":"a.txt"}'), finish("tool-calls")],
  malformed_call: [call(MALFORMED), finish("tool-calls")],
  cut: TEXT,
  hanging: TEXT,
};

function toStream(
  parts: readonly LanguageModelV4StreamPart[],
  staysOpen: boolean,
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      if (!staysOpen) controller.close();
    },
    // A provider that never settles its cancellation must not hold the stream open.
    cancel: () => new Promise(() => undefined),
  });
}

const WORDS: readonly Frame[] = [{ text: "The answer " }, { text: "is" }];
const REPLIES: Readonly<Record<Scenario, Reply>> = {
  text: { frames: [...WORDS, { finish: "stop" }, { usage: { input: 3, output: 2 } }] },
  call: {
    frames: [
      { call: { id: "c1", name: "write", args: '{"path":"a.txt"}' } },
      { finish: "tool_calls" },
    ],
  },
  malformed_call: {
    frames: [{ call: { id: "c1", name: "write", args: MALFORMED } }, { finish: "tool_calls" }],
  },
  cut: { frames: WORDS, done: false },
  failing: {
    status: 503,
    headers: { "x-key": SECRET },
    body: { error: { message: `upstream refused ${SECRET}` } },
  },
  hanging: { frames: [...WORDS, { hang: true }] },
};
