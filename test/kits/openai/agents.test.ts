/** An agent of this deployment as the model of the OpenAI Agents SDK, over both of its wires. */
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;

beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

const looked: string[] = [];
const look = tool({
  name: "look",
  description: "Looks something up.",
  parameters: z.object({ what: z.string() }),
  execute: ({ what }) => {
    looked.push(what);
    return `seen ${what}`;
  },
});
const fails = tool({
  name: "fails",
  description: "Fails.",
  parameters: z.object({}),
  execute: () => {
    throw new Error("out of order");
  },
});

describe.each([
  ["responses", true],
  ["chat completions", false],
])("@openai/agents over %s", (_wire, useResponses) => {
  const runner = (): Runner => {
    const provider = new OpenAIProvider({
      apiKey: server.key,
      baseURL: `${server.url}/openai/v1`,
      useResponses,
    });
    return new Runner({ modelProvider: provider, tracingDisabled: true });
  };
  const agent = (tools: Agent["tools"] = []): Agent =>
    new Agent({ name: "Assistant", instructions: "Be brief.", model: "obeys", tools });

  it("[P62] runs, and is told what it used", async () => {
    const result = await runner().run(agent(), "say hello");
    expect(result.finalOutput).toBe("hello");
    expect(result.rawResponses[0]?.usage.totalTokens).toBe(2);
  });

  it("[P64] streams the text once", async () => {
    const result = await runner().run(agent(), "slow 8", { stream: true });
    let text = "";
    for await (const chunk of result.toTextStream()) text += String(chunk);
    await result.completed;
    const words = "w1 w2 w3 w4 w5 w6 w7 w8 ";
    expect(text).toBe(words);
    expect(result.finalOutput).toBe(words);
  });

  it.each([false, true])("[P60] calls the caller's tools, streaming %s", async (stream) => {
    looked.length = 0;
    const asked = 'call look {"what":"a"} look {"what":"b"}';
    const result = stream
      ? await runner().run(agent([look]), asked, { stream: true })
      : await runner().run(agent([look]), asked);
    if ("completed" in result) {
      for await (const event of result) void event;
      await result.completed;
    }
    expect(result.finalOutput).toBe("got seen a and seen b");
    expect(looked.toSorted()).toEqual(["a", "b"]);
  });

  it("[P60] tells the model what a tool failed with", async () => {
    const result = await runner().run(agent([fails]), "call fails {}");
    expect(result.finalOutput).toMatch(/^got An error occurred while running the tool/);
  });

  it("goes on with a conversation whose history the SDK keeps", async () => {
    const first = await runner().run(agent(), "say one");
    const history = [...first.history, { role: "user" as const, content: "say two" }];
    expect((await runner().run(agent(), history)).finalOutput).toBe("two");
  });

  it("answers in the form that the SDK's output type asks for", async () => {
    const typed = new Agent({
      name: "Counter",
      model: "obeys",
      outputType: z.object({ n: z.number() }),
    });
    expect((await runner().run(typed, 'say {"n":3}')).finalOutput).toEqual({ n: 3 });
  });

  it("[P65] an agent that is not there, and a wrong key, are the SDK's own errors", async () => {
    const nobody = new Agent({ name: "Nobody", model: "nobody" });
    await expect(runner().run(nobody, "say hello")).rejects.toMatchObject({ status: 404 });
    const provider = new OpenAIProvider({
      apiKey: "hf_wrong",
      baseURL: `${server.url}/openai/v1`,
      useResponses,
    });
    const stranger = new Runner({ modelProvider: provider, tracingDisabled: true });
    await expect(stranger.run(agent(), "say hello")).rejects.toMatchObject({ status: 401 });
  });

  it("an abort ends the stream", async () => {
    const stop = new AbortController();
    const result = await runner().run(agent(), "slow 400", { stream: true, signal: stop.signal });
    let text = "";
    for await (const chunk of result.toTextStream()) {
      text += String(chunk);
      stop.abort();
    }
    await result.completed.catch(() => undefined);
    expect(text).toMatch(/^w1 /);
    expect(text.length).toBeLessThan(400);
  });
});

it("[P62] continues by previous_response_id", async () => {
  const provider = new OpenAIProvider({
    apiKey: server.key,
    baseURL: `${server.url}/openai/v1`,
    useResponses: true,
  });
  const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
  const agent = new Agent({ name: "Assistant", model: "obeys", tools: [look] });
  const first = await runner.run(agent, "say one");
  const previousResponseId = first.lastResponseId!;
  const next = await runner.run(agent, 'call look {"what":"c"}', { previousResponseId });
  expect(next.finalOutput).toBe("got seen c");
  expect(next.lastResponseId).toContain(previousResponseId.split(".")[1]);
});
