/**
 * Handed cases that live on a provider's wire, below what a client of the API can script: A13 and the words of A03, A04 and
 * A14 against a real HTTP server behind the OpenAI-compatible adapter, A15 against stubs that check each provider's own
 * format. Both drive a whole thread: log, kernel, gate and adapter.
 */
import { describe, expect, test } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { OpenAiCompatibleModel } from "#adapters/model/openai-compatible-model.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { PromptCompiler } from "#kernel/prompt.ts";
import { trimWindow, windowTokens } from "#kernel/window.ts";
import type { Tool } from "#ports/tool.ts";
import { z } from "zod";
import { A13, A15 } from "#test/fixtures/cases-model-output.ts";
import { anthropicShape } from "#test/support/provider-shapes/anthropic.ts";
import { geminiShape } from "#test/support/provider-shapes/gemini.ts";
import { openaiShape } from "#test/support/provider-shapes/openai.ts";
import type { ProviderShape, Turn } from "#test/support/provider-shapes/shape.ts";
import { workersAiShape } from "#test/support/provider-shapes/workers-ai.ts";
import { type Reply, startProviderStub } from "#test/support/provider-stub.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

const charged: number[] = [];
const charge = defineTool({
  name: "charge",
  description: "Charges.",
  version: "1",
  input: z.object({ n: z.number() }),
  effect: "once",
  execute: ({ n }) => {
    charged.push(n);
    return "charged";
  },
});

async function run(...replies: readonly Reply[]) {
  await using stub = await startProviderStub();
  stub.play(...replies);
  const { baseUrl } = stub;
  const model = new OpenAiCompatibleModel({
    baseUrl,
    apiKey: null,
    name: "stub",
    modelId: "m",
    route: "openai-compatible/m",
  });
  const thread = new ThreadHarness({ model, tools: [charge] });
  thread.send("go");
  await thread.finish();
  return { thread, stub, run: thread.run("run_1") };
}

describe("A13: a stream that closes without its end", () => {
  test("A13 [K6] in a text: stream_incomplete after its retries, never stop; the partial text is marked", async () => {
    const cut = { frames: [A13.eofMidText], done: false };
    const { thread, stub, run: ended } = await run(cut);
    expect(ended).toMatchObject({ status: "failed", reason: "model_failed", text: null });
    expect(ended.message).toMatch(/^stream_incomplete/);
    const failed = thread
      .of("model.failed")
      .map(({ payload }) => [payload?.code, payload?.partial]);
    expect(failed).toEqual(Array(3).fill(["stream_incomplete", "The answer is"]));
    expect(thread.of("model.answered")).toEqual([]);
    expect(stub.requests).toHaveLength(3);
  });

  test("A13 [K6] in a call: it is not executed, and a later attempt may answer", async () => {
    const cut = { frames: [A13.eofMidCall], done: false };
    const { thread, run: ended } = await run(cut, { frames: [{ text: "ok" }, { finish: "stop" }] });
    expect(ended).toMatchObject({ finish: "stop", text: "ok" });
    expect(charged).toEqual([]);
    expect(thread.of("model.failed").map(({ payload }) => payload?.code)).toEqual([
      "stream_incomplete",
    ]);
    expect(thread.of("tool.started")).toEqual([]);
  });

  test("A13 [K4] a last frame without a newline is read", async () => {
    const { thread, run: ended } = await run({
      frames: [{ raw: A13.terminalWithoutNewline }],
      done: false,
    });
    expect(ended).toMatchObject({ finish: "stop", text: "ok" });
    expect(thread.of("model.failed")).toEqual([]);
  });
});

describe("A03, A14: the words of the provider behind a router", () => {
  const raw = (delta: object, finish: string | null = null) => ({
    raw: `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
  });
  const whole = { id: "c1", type: "function", function: { name: "charge", arguments: '{"n":7}' } };

  test.each(["max_tokens", "MAX_TOKENS", "model_length"])(
    "A03 A04 [K29] [K20] %s in a call that parses: not executed, asked once more, then length",
    async (word) => {
      const before = charged.length;
      const cut = { frames: [raw({ tool_calls: [{ index: 0, ...whole }] }), raw({}, word)] };
      const { thread, stub, run: ended } = await run(cut, cut);
      expect(ended).toMatchObject({ status: "completed", finish: "length" });
      expect(charged).toHaveLength(before);
      expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
        "tool_args_truncated",
        "tool_args_truncated",
      ]);
      expect(thread.of("model.answered").map(({ payload }) => payload?.rawFinish)).toEqual([
        word,
        word,
      ]);
      expect(stub.requests).toHaveLength(2);
    },
  );

  test.each(["SAFETY", "RECITATION", "refusal", "PROHIBITED_CONTENT"])(
    "A14 [K29] [K23] %s: asked once, content_filter, and the call beside it is not executed",
    async (word) => {
      const before = charged.length;
      const filtered = {
        frames: [
          raw({ content: "I can" }),
          raw({ tool_calls: [{ index: 0, ...whole }] }),
          raw({}, word),
        ],
      };
      const { stub, run: ended } = await run(filtered);
      expect(ended).toMatchObject({ finish: "content_filter", text: "I can" });
      expect(charged).toHaveLength(before);
      expect(stub.requests).toHaveLength(1);
    },
  );

  test("A14 [K23] a refusal beside an ordinary end is shown, asked once and is no answer", async () => {
    const { stub, run: ended } = await run({
      frames: [raw({ refusal: "I can't help with that" }), raw({}, "stop")],
    });
    expect(ended).toMatchObject({ finish: "content_filter", text: "I can't help with that" });
    expect(stub.requests).toHaveLength(1);
  });

  test("[K29] a word that nobody knows is an ordinary end, and is in the record", async () => {
    const { thread, run: ended } = await run({ frames: [raw({ content: "hi" }), raw({}, "eos")] });
    expect(ended).toMatchObject({ finish: "stop", text: "hi" });
    expect(thread.of("model.answered")[0]?.payload?.rawFinish).toBe("eos");
  });
});

const SHAPES = [openaiShape, anthropicShape, geminiShape, workersAiShape] as const;
const REASONED: Turn = [
  { reasoning: A15.reasoning },
  ...A15.calls.map((args) => ({ call: { name: "look", args } })),
];
const TEXT: Turn = [{ text: A15.text }];

/** Tells the stub which calls its newest reasoning led to, when the first of them runs. */
function lookTool(shape: () => ProviderShape, thread: () => ThreadHarness): Tool {
  return defineTool({
    name: "look",
    description: "Looks.",
    version: "1",
    input: z.object({ n: z.number() }),
    effect: "read",
    execute: ({ n }) => {
      const key = shape().keys.at(-1);
      const parts = thread().of("model.answered").at(-1)?.payload?.parts ?? [];
      for (const part of parts)
        if (part.type === "call" && key !== undefined) shape().bind(part.callId, key);
      return `seen ${n}`;
    },
  });
}

function startThread(first: ProviderShape): {
  readonly thread: ThreadHarness;
  use(shape: ProviderShape): void;
} {
  let shape = first;
  const thread: ThreadHarness = new ThreadHarness({
    model: first.model,
    tools: [
      lookTool(
        () => shape,
        () => thread,
      ),
    ],
  });
  return {
    thread,
    use(next) {
      shape = next;
      thread.model = next.model;
    },
  };
}
async function ask(thread: ThreadHarness, text: string): Promise<void> {
  thread.send(text);
  await thread.finish();
}
const lastBody = (shape: ProviderShape): string => JSON.stringify(shape.requests.at(-1));

describe.each(SHAPES.map((create) => [create().name, create] as const))(
  "A15: reasoning and its calls, %s",
  (_name, create) => {
    test("A15 [K24] go back together, with what was signed byte for byte, also after a restart", async () => {
      const shape = create();
      shape.play(REASONED, TEXT, TEXT);
      const { thread } = startThread(shape);
      await ask(thread, "u");
      const stored = JSON.stringify(thread.of("model.answered"));
      thread.reopen();
      expect(JSON.stringify(thread.of("model.answered"))).toBe(stored);
      await ask(thread, "again");
      expect(shape.refused).toEqual([]);
      expect(shape.requests).toHaveLength(3);
      expect(thread.listRuns().map(({ finish, text }) => [finish, text])).toEqual([
        ["stop", "a"],
        ["stop", "a"],
      ]);
      expect(shape.keys).toHaveLength(1);
      expect(lastBody(shape)).toContain(JSON.stringify(shape.keys[0]));
      expect(thread.of("tool.finished")).toHaveLength(2);
    });

    test("A15 [K8] [K24] any trim sends all of it or none of it", async () => {
      const shape = create();
      shape.play(REASONED, TEXT, TEXT);
      const { thread } = startThread(shape);
      await ask(thread, "u");
      await ask(thread, "again");
      const { state } = thread.runtime;
      const whole = state.window.slice(0, -1);
      const compiler = new PromptCompiler(new NodeHasher(), (seq) => thread.log.get(seq));
      const sizes = new Set<number>();
      for (let budget = 1; budget <= windowTokens(whole); budget += 1) {
        const window = trimWindow(whole, { budget, planSeq: null }).map(({ ref }) => ref);
        sizes.add(window.length);
        const source = { manifest: thread.manifest, definition: "d", output: null, window };
        const options = { signal: new AbortController().signal, idempotencyKey: "evt_1" };
        for await (const part of shape.model.stream(compiler.compile(source).request, options))
          if (part.type === "error") throw new Error(part.message);
      }
      expect(shape.refused).toEqual([]);
      expect(sizes.size).toBeGreaterThan(1);
    });

    test("A15 [K24] a signature over text that was changed is not sent", async () => {
      const shape = create();
      shape.play([{ reasoning: "half \uD83D" }, ...REASONED.slice(1)], TEXT, TEXT);
      const thread: ThreadHarness = new ThreadHarness({
        model: shape.model,
        tools: [
          lookTool(
            () => create(),
            () => thread,
          ),
        ],
      });
      await ask(thread, "u");
      expect(shape.refused).toEqual([]);
      expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "a" });
    });

    test.each(SHAPES.filter((other) => other !== create))(
      "A15 [K24] another provider gets none of it, and the first one all of it afterwards (%#)",
      async (other) => {
        const first = create();
        const second = other();
        for (const shape of [first, second]) shape.play(REASONED, TEXT, TEXT);
        const { thread, use } = startThread(first);
        await ask(thread, "u");
        use(second);
        await ask(thread, "elsewhere");
        expect(JSON.stringify(second.requests[0])).not.toContain(JSON.stringify(first.keys[0]));
        expect(JSON.stringify(second.requests[0])).not.toContain(A15.reasoning);
        use(first);
        await ask(thread, "back");
        expect(first.refused).toEqual([]);
        expect(second.refused).toEqual([]);
        expect(lastBody(first)).toContain(JSON.stringify(first.keys[0]));
        expect(lastBody(first)).not.toContain(JSON.stringify(second.keys[0]));
        expect(thread.listRuns().map(({ finish }) => finish)).toEqual(["stop", "stop", "stop"]);
      },
    );
  },
);
