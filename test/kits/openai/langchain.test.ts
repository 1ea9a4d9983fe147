/** An agent of this deployment as a LangChain chat model, over both of its wires. */
import { HumanMessage, ToolMessage, type AIMessageChunk } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;

beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

const look = tool(({ what }: { what: string }) => `seen ${what}`, {
  name: "look",
  description: "Looks something up.",
  schema: z.object({ what: z.string() }),
});

describe.each([
  ["chat completions", false],
  ["responses", true],
])("@langchain/openai over %s", (_wire, useResponsesApi) => {
  const modelOf = (over: object = {}): ChatOpenAI =>
    new ChatOpenAI({
      model: "obeys",
      apiKey: server.key,
      useResponsesApi,
      maxRetries: 0,
      configuration: { baseURL: `${server.url}/openai/v1` },
      ...over,
    });

  it("invokes", async () => {
    const answer = await modelOf().invoke("say hello");
    expect(answer.text).toBe("hello");
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 1, output_tokens: 1 });
  });

  it("streams the text once", async () => {
    let text = "";
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await modelOf().stream("slow 8")) {
      text += chunk.text;
      whole = whole === undefined ? chunk : whole.concat(chunk);
    }
    expect(text).toBe("w1 w2 w3 w4 w5 w6 w7 w8 ");
    expect(whole?.text).toBe(text);
  });

  it.each([false, true])("[P60] calls the caller's tools, streaming %s", async (streaming) => {
    const model = modelOf().bindTools([look]);
    const question = new HumanMessage('call look {"what":"a"} look {"what":"b"}');
    let asked: AIMessageChunk | undefined;
    if (streaming) {
      for await (const chunk of await model.stream([question]))
        asked = asked === undefined ? chunk : asked.concat(chunk);
    } else asked = await model.invoke([question]);
    expect(asked?.tool_calls?.map(({ name, args }) => ({ name, args }))).toEqual([
      { name: "look", args: { what: "a" } },
      { name: "look", args: { what: "b" } },
    ]);
    const results: ToolMessage[] = [];
    for (const call of asked?.tool_calls ?? [])
      results.push((await look.invoke({ ...call, type: "tool_call" })) as ToolMessage);
    const answer = await model.invoke([question, asked!, ...results]);
    expect(answer.text).toBe("got seen a and seen b");
  });

  it("answers in the form that it is asked for", async () => {
    const model = modelOf().withStructuredOutput(z.object({ n: z.number() }), {
      method: "jsonSchema",
    });
    expect(await model.invoke('say {"n":3}')).toEqual({ n: 3 });
  });

  it("[P65] an agent that is not there, and a wrong key, are errors with their status", async () => {
    const nobody = modelOf({ model: "nobody" }).invoke("say hello");
    await expect(nobody).rejects.toMatchObject({ status: 404 });
    const stranger = modelOf({ apiKey: "hf_wrong" }).invoke("say hello");
    await expect(stranger).rejects.toMatchObject({ status: 401 });
  });
});
