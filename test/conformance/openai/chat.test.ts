/** Chat Completions through the published `openai` package, and byte by byte where a strict client would look. */
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
let client: OpenAI;

beforeAll(async () => {
  server = await startBundled();
  client = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: server.key, maxRetries: 0 });
});
afterAll(() => server.dispose());

const ask = (content: string) => [{ role: "user" as const, content }];
const LOOK = {
  type: "function" as const,
  function: {
    name: "look",
    description: "Looks something up.",
    parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
  },
};

async function refusal(promise: Promise<unknown>): Promise<APIError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("the openai package, unchanged: models and chat", () => {
  it("[P60] lists agents as models", async () => {
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    expect(models).toContain("obeys");
    expect((await client.models.retrieve("obeys")).id).toBe("obeys");
  });

  it("[P61] answers a chat with the agent's text and usage", async () => {
    const said = await client.chat.completions.create({
      model: "obeys",
      messages: ask("say hello there"),
    });
    expect(said.choices).toMatchObject([
      {
        index: 0,
        finish_reason: "stop",
        message: { role: "assistant", content: "hello there", refusal: null },
      },
    ]);
    expect(said.usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
  });

  it("[P63] streams the same text, one finish and the usage", async () => {
    const stream = await client.chat.completions.create({
      model: "obeys",
      messages: ask("slow 5"),
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const finishes: string[] = [];
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      const finish = chunk.choices[0]?.finish_reason;
      if (finish != null) finishes.push(finish);
      tokens += chunk.usage?.total_tokens ?? 0;
    }
    expect({ text, finishes, tokens }).toEqual({
      text: "w1 w2 w3 w4 w5 ",
      finishes: ["stop"],
      tokens: 2,
    });
  });

  it("[P61] runs the agent's own tools itself", async () => {
    const said = await client.chat.completions.create({
      model: "obeys",
      messages: ask('call add {"a":2,"b":3}'),
    });
    expect(said.choices[0]?.message.content).toBe('got {"sum":5}');
  });

  it("[P60] hands parallel calls of the caller's functions over, and goes on with their results", async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = ask(
      'call look {"what":"a"} look {"what":"b"}',
    );
    const first = await client.chat.completions.create({ model: "obeys", messages, tools: [LOOK] });
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && call.function)).toEqual([
      { name: "look", arguments: '{"what":"a"}' },
      { name: "look", arguments: '{"what":"b"}' },
    ]);
    expect(calls.every(({ id }) => id.length <= 64)).toBe(true);
    if (choice !== undefined) messages.push(choice.message);
    for (const [index, { id }] of calls.entries())
      messages.push({ role: "tool", tool_call_id: id, content: `saw ${index}` });
    const second = await client.chat.completions.create({
      model: "obeys",
      messages,
      tools: [LOOK],
    });
    expect(second.choices[0]?.message.content).toBe("got saw 0 and saw 1");
    // A client that retries: the decisions stand, and the answer is the same.
    const again = await client.chat.completions.create({ model: "obeys", messages, tools: [LOOK] });
    expect(again.choices[0]?.message.content).toBe("got saw 0 and saw 1");
  });

  it("[P60] runTools of the package drives a function to the end", async () => {
    const looked: string[] = [];
    const runner = client.chat.completions.runTools({
      model: "obeys",
      stream: true,
      messages: ask('call look {"what":"x"}'),
      tools: [
        {
          type: "function",
          function: {
            name: "look",
            description: "Looks something up.",
            parameters: LOOK.function.parameters,
            parse: (text: string) => z.object({ what: z.string() }).parse(JSON.parse(text)),
            function: ({ what }: { what: string }) => {
              looked.push(what);
              return `found ${what}`;
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("got found x");
    expect(looked).toEqual(["x"]);
  });

  it("[P61] sees the history that the client sends, and takes none of it as instructions of its own", async () => {
    const said = await client.chat.completions.create({
      model: "obeys",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "say one" },
        { role: "assistant", content: "one" },
        { role: "user", content: "say two" },
      ],
    });
    expect(said.choices[0]?.message.content).toBe("two");
  });

  it("[P63] checks JSON that was asked for before it sends it", async () => {
    const said = await client.chat.completions.create({
      model: "obeys",
      messages: ask('say {"n":1}'),
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "n",
          schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
        },
      },
    });
    expect(said.choices[0]?.message.content).toBe('{"n":1}');
    const wrong = await refusal(
      client.chat.completions.create({
        model: "obeys",
        messages: ask("say nothing like it"),
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", schema: { type: "object", required: ["n"] } },
        },
      }),
    );
    expect(wrong).toMatchObject({ status: 500, code: "output_invalid" });
  });
});

describe("refusals as the package's error classes", () => {
  it("[P65] AuthenticationError, NotFoundError, BadRequestError", async () => {
    const stranger = new OpenAI({
      baseURL: `${server.url}/openai/v1`,
      apiKey: "hf_x",
      maxRetries: 0,
    });
    expect(await refusal(stranger.models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
    const unknown = await refusal(
      client.chat.completions.create({ model: "nobody", messages: ask("say x") }),
    );
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
    expect(unknown).toMatchObject({ code: "model_not_found", param: "model" });
    const two = await refusal(
      client.chat.completions.create({ model: "obeys", messages: ask("say x"), n: 2 }),
    );
    expect(two).toBeInstanceOf(OpenAI.BadRequestError);
    expect(two).toMatchObject({ param: "n" });
    const foreign = await refusal(
      client.chat.completions.create({
        model: "obeys",
        messages: [
          ...ask("say x"),
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
            ],
          },
          { role: "tool", tool_call_id: "call_1", content: "x" },
        ],
      }),
    );
    expect(foreign).toMatchObject({ status: 400, code: "unknown_call" });
  });

  it("[P65] a call that waits for a person is said, and is not run", async () => {
    const waits = await refusal(
      client.chat.completions.create({ model: "obeys", messages: ask('call refund {"order":7}') }),
    );
    expect(waits).toMatchObject({ status: 409, code: "approval_required" });
  });
});

const Chunk = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      delta: z.strictObject({
        role: z.literal("assistant").optional(),
        content: z.string().nullable().optional(),
        tool_calls: z
          .array(
            z.strictObject({
              index: z.int(),
              id: z.string(),
              type: z.literal("function"),
              function: z.strictObject({ name: z.string(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      logprobs: z.null(),
      finish_reason: z.enum(["stop", "length", "tool_calls", "content_filter"]).nullable(),
    }),
  ),
  usage: z.looseObject({ total_tokens: z.int() }).optional(),
});

async function lines(body: object): Promise<readonly string[]> {
  const response = await fetch(`${server.url}/openai/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  return (await response.text()).split("\n").filter((line) => line !== "");
}

describe("G07 every line of a stream", () => {
  it("[P63] G07 is a chunk of one id, model and time; parallel calls have an index; then one finish, usage, one [DONE]", async () => {
    const told = await lines({
      model: "obeys",
      messages: ask('call look {"what":"a"} look {"what":"b"}'),
      tools: [LOOK],
      stream: true,
      stream_options: { include_usage: true },
    });
    const data = told.filter((line) => !line.startsWith(":"));
    expect(data.every((line) => line.startsWith("data: "))).toBe(true);
    expect(data.filter((line) => line === "data: [DONE]")).toHaveLength(1);
    expect(data.at(-1)).toBe("data: [DONE]");
    const chunks = data.slice(0, -1).map((line) => Chunk.parse(JSON.parse(line.slice(6))));
    expect(new Set(chunks.map(({ id, model, created }) => `${id} ${model} ${created}`)).size).toBe(
      1,
    );
    const calls = chunks.flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => delta.tool_calls ?? []),
    );
    expect(calls.map(({ index, function: { name } }) => [index, name])).toEqual([
      [0, "look"],
      [1, "look"],
    ]);
    const finishes = chunks.flatMap(({ choices }) =>
      choices.flatMap((choice) => choice.finish_reason ?? []),
    );
    expect(finishes).toEqual(["tool_calls"]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 2 } });
  });

  it("[P63] G07 a failure behind the headers is one line with an error, and no [DONE]", async () => {
    const told = await lines({
      model: "obeys",
      messages: ask('call refund {"order":1}'),
      stream: true,
    });
    expect(told.filter((line) => line.startsWith('data: {"error":'))).toHaveLength(1);
    expect(told).not.toContain("data: [DONE]");
    const stream = await client.chat.completions.create({
      model: "obeys",
      messages: ask('call refund {"order":1}'),
      stream: true,
    });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe("chat.completion.chunk");
    };
    await expect(read()).rejects.toBeInstanceOf(APIError);
  });

  it("[P63] G07 a client that leaves ends its run", async () => {
    const abort = new AbortController();
    const response = await fetch(`${server.url}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "obeys", messages: ask("slow 500"), stream: true }),
      signal: abort.signal,
    });
    const [thread, run] = [
      response.headers.get("x-holdfast-thread"),
      response.headers.get("x-holdfast-run"),
    ];
    const reader = response.body?.getReader();
    await reader?.read();
    abort.abort();
    const read = async () => {
      const view = await fetch(`${server.url}/v1/agents/obeys/threads/${thread}/runs/${run}`, {
        headers: { authorization: `Bearer ${server.key}` },
      });
      return (await view.json<{ status: string }>()).status;
    };
    await expect.poll(read, { timeout: 10_000 }).toBe("cancelled");
    // Paid for once: the one call that was under way.
    const log = await fetch(`${server.url}/v1/agents/obeys/threads/${thread}/events?limit=200`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    const { items } = await log.json<{ items: { header: { type: string } }[] }>();
    const asked = items.filter(({ header }) => header.type === "model.requested");
    expect(asked).toHaveLength(1);
  });
});
