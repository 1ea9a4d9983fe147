/** The Responses API through the published `openai` package: stored, continued, in the background, resumed, cancelled. */
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
let client: OpenAI;

beforeAll(async () => {
  server = await startBundled();
  client = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: server.key, maxRetries: 0 });
});
afterAll(() => server.dispose());

const LOOK = {
  type: "function" as const,
  name: "look",
  description: "Looks something up.",
  strict: false,
  parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
};

async function eventsOf(stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) {
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
const textOf = (events: readonly OpenAI.Responses.ResponseStreamEvent[]): string =>
  events.map((e) => (e.type === "response.output_text.delta" ? e.delta : "")).join("");

describe("the openai package, unchanged: responses", () => {
  it("[P62] answers, keeps the answer, and continues the thread", async () => {
    const first = await client.responses.create({ model: "obeys", input: "say hello" });
    expect(first).toMatchObject({ object: "response", status: "completed", output_text: "hello" });
    expect(first.usage).toMatchObject({ input_tokens: 1, output_tokens: 1, total_tokens: 2 });
    const kept = await client.responses.retrieve(first.id);
    expect(kept).toMatchObject({ id: first.id, status: "completed", output_text: "hello" });
    const next = await client.responses.create({
      model: "obeys",
      input: "say again",
      previous_response_id: first.id,
    });
    expect(next.output_text).toBe("again");
    // One conversation: both messages are of one thread.
    const [, thread] = first.id.split(".");
    expect(next.id).toContain(`.${thread}.`);
    const messages = await fetch(`${server.url}/v1/agents/obeys/threads/${thread}/messages`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    const { items } = await messages.json<{ items: readonly { role: string }[] }>();
    expect(items.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("[P64] streams events whose numbers rise and whose deltas add up", async () => {
    const stream = await client.responses.create({ model: "obeys", input: "slow 5", stream: true });
    const events = await eventsOf(stream);
    expect(events.map(({ type }) => type).filter((type) => !type.endsWith("delta"))).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(textOf(events)).toBe("w1 w2 w3 w4 w5 ");
    const numbers = events.map((event) => event.sequence_number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    const last = events.at(-1);
    expect(last?.type === "response.completed" && last.response.output).toMatchObject([
      { type: "message", content: [{ text: "w1 w2 w3 w4 w5 " }] },
    ]);
  });

  it("[P64] goes on behind the last event that a client saw, and gives no character twice", async () => {
    const stream = await client.responses.create({
      model: "obeys",
      input: "slow 40",
      stream: true,
      background: true,
    });
    let seen = "";
    let after = -1;
    let id = "";
    for await (const event of stream) {
      if (event.type === "response.created") ({ id } = event.response);
      after = event.sequence_number;
      if (event.type === "response.output_text.delta") seen += event.delta;
      if (seen.includes("w7 ")) break;
    }
    stream.controller.abort();
    const rest = await eventsOf(
      await client.responses.retrieve(id, { stream: true, starting_after: after }),
    );
    const whole = Array.from({ length: 40 }, (_, word) => `w${word + 1} `).join("");
    expect(seen + textOf(rest)).toBe(whole);
    expect(rest.at(-1)?.type).toBe("response.completed");
    // The same once more, when all of it is history.
    const replayed = await eventsOf(
      await client.responses.retrieve(id, { stream: true, starting_after: after }),
    );
    expect(seen + textOf(replayed)).toBe(whole);
  });

  it("[P62] runs in the background and is asked for until it has ended; cancelled where it is told to", async () => {
    const started = await client.responses.create({
      model: "obeys",
      input: "slow 3",
      background: true,
    });
    expect(started.status).toBe("in_progress");
    await expect
      .poll(async () => (await client.responses.retrieve(started.id)).status, { timeout: 10_000 })
      .toBe("completed");
    expect((await client.responses.retrieve(started.id)).output_text).toBe("w1 w2 w3 ");
    const long = await client.responses.create({
      model: "obeys",
      input: "slow 500",
      background: true,
    });
    expect((await client.responses.cancel(long.id)).status).toBe("cancelled");
    // Cancelling what has ended changes nothing.
    expect((await client.responses.cancel(started.id)).status).toBe("completed");
  });

  it("[P60] functions of the caller, with and without previous_response_id", async () => {
    const input = 'call look {"what":"a"}';
    const asked = await client.responses.create({ model: "obeys", input, tools: [LOOK] });
    const [call] = asked.output;
    if (call?.type !== "function_call") throw new Error(JSON.stringify(asked.output));
    expect(call).toMatchObject({ name: "look", arguments: '{"what":"a"}', status: "completed" });
    const result = {
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: "found",
    };
    const answered = await client.responses.create({
      model: "obeys",
      tools: [LOOK],
      previous_response_id: asked.id,
      input: [result],
    });
    expect(answered.output_text).toBe("got found");
    const again = await client.responses.create({ model: "obeys", input, tools: [LOOK] });
    const [other] = again.output;
    if (other?.type !== "function_call") throw new Error(JSON.stringify(again.output));
    const stateless = await client.responses.create({
      model: "obeys",
      tools: [LOOK],
      input: [
        { role: "user", content: input },
        other,
        { type: "function_call_output", call_id: other.call_id, output: "seen" },
      ],
    });
    expect(stateless.output_text).toBe("got seen");
  });

  it("[P62] an approval is asked for and given by items of the API", async () => {
    const asked = await client.responses.create({
      model: "obeys",
      input: 'call refund {"order":7}',
    });
    const [request] = asked.output;
    if (request?.type !== "mcp_approval_request") throw new Error(JSON.stringify(asked.output));
    expect(request).toMatchObject({ name: "refund", arguments: '{"order":7}' });
    const done = await client.responses.create({
      model: "obeys",
      previous_response_id: asked.id,
      input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
    });
    expect(done.output_text).toBe("got refunded 7");
  });

  it("[P62] a response that is read again is what it was: previous, background, form and items", async () => {
    const first = await client.responses.create({ model: "obeys", input: "say one" });
    expect(first).toMatchObject({ previous_response_id: null, background: false });
    const format = { type: "json_schema" as const, name: "n", schema: { type: "object" } };
    const next = await client.responses.create({
      model: "obeys",
      input: 'say {"n":3}',
      previous_response_id: first.id,
      text: { format },
    });
    const again = await client.responses.create({
      model: "obeys",
      input: 'say {"n":3}',
      previous_response_id: first.id,
    });
    const behind = await client.responses.create({
      model: "obeys",
      input: 'call look {"what":"a"}',
      tools: [LOOK],
      previous_response_id: next.id,
      background: true,
    });
    for (const [asked, previous, background] of [
      [first, null, false],
      [next, first.id, false],
      [again, first.id, false],
      [behind, next.id, true],
    ] as const) {
      expect([asked.previous_response_id, asked.background]).toEqual([previous, background]);
      const kept = await client.responses.retrieve(asked.id);
      expect([kept.previous_response_id, kept.background]).toEqual([previous, background]);
      expect(kept.id).toBe(asked.id);
    }
    expect((await client.responses.retrieve(next.id)).text).toMatchObject({ format });
    let waiting = await client.responses.retrieve(behind.id);
    await expect
      .poll(async () => (waiting = await client.responses.retrieve(behind.id)).status)
      .toBe("completed");
    const [call] = waiting.output;
    if (call?.type !== "function_call") throw new Error(JSON.stringify(waiting.output));
    const result = { type: "function_call_output", call_id: call.call_id, output: "seen" } as const;
    const last = await client.responses.create({
      model: "obeys",
      tools: [LOOK],
      previous_response_id: behind.id,
      input: [result],
    });
    expect(last.previous_response_id).toBe(behind.id);
    const kept = await client.responses.retrieve(last.id);
    expect(kept).toMatchObject({ previous_response_id: behind.id, output_text: "got seen" });
    const stream = await client.responses.retrieve(last.id, { stream: true });
    expect((await eventsOf(stream)).at(-1)).toMatchObject({
      response: { previous_response_id: behind.id },
    });
    const itemsOf = async (id: string) => (await client.responses.inputItems.list(id)).data;
    expect(await itemsOf(first.id)).toMatchObject([
      { type: "message", role: "user", content: [{ type: "input_text", text: "say one" }] },
    ]);
    expect(await itemsOf(last.id)).toMatchObject([{ ...result, status: "completed" }]);
  });

  it("[P62] items of a response are listed in pages, of an approval as its answer", async () => {
    const asked = await client.responses.create({
      model: "obeys",
      input: 'call refund {"order":1} refund {"order":2}',
    });
    const requests = asked.output.filter((item) => item.type === "mcp_approval_request");
    expect(requests).toHaveLength(2);
    const done = await client.responses.create({
      model: "obeys",
      previous_response_id: asked.id,
      input: requests.map(({ id }, index) => ({
        type: "mcp_approval_response" as const,
        approval_request_id: id,
        approve: index === 0,
        reason: "as agreed",
      })),
    });
    const approvals = requests.map(({ id }, index) => ({
      type: "mcp_approval_response",
      approval_request_id: id,
      approve: index === 0,
      reason: "as agreed",
    }));
    const listed: unknown[] = [];
    const query = { order: "asc" as const, limit: 1 };
    for await (const item of client.responses.inputItems.list(done.id, query)) listed.push(item);
    expect(listed).toMatchObject(approvals);
    const { data } = await client.responses.inputItems.list(done.id);
    expect(data).toMatchObject(approvals.toReversed());
    const wrong = client.responses.inputItems.list(done.id, { limit: 1_000 });
    await expect(wrong).rejects.toMatchObject({ status: 400, param: "limit" });
    const foreign = new OpenAI({
      baseURL: `${server.url}/openai/v1`,
      apiKey: await server.mint("u-items"),
      maxRetries: 0,
    });
    await expect(foreign.responses.inputItems.list(done.id)).rejects.toMatchObject({ status: 404 });
  });

  it("[P65] refuses what it cannot keep or does not know", async () => {
    const refused = async (promise: Promise<unknown>) => {
      const error: unknown = await promise.then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof APIError)) throw new Error("not refused");
      return [error.status, error.code, error.param];
    };
    expect(
      await refused(client.responses.create({ model: "obeys", input: "say x", store: false })),
    ).toEqual([400, "unsupported_value", "store"]);
    expect(await refused(client.responses.retrieve("resp_nothing"))).toEqual([
      404,
      "not_found",
      "response_id",
    ]);
    const foreign = "resp_obeys.thr_0123456789.run_0123456789.1";
    expect(await refused(client.responses.retrieve(foreign))).toEqual([
      404,
      "not_found",
      "response_id",
    ]);
  });
});
