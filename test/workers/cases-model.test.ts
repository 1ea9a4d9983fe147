/** Handed cases of model output: what a model sends wrongly, through the public API, against a strict provider stub. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool, defineToolFromJsonSchema } from "#authoring/define-tool.ts";
import type { Tool } from "#ports/tool.ts";
import { fromUtf8, utf8 } from "#shared/json.ts";
import { A03, A04, A06, A07, A10 } from "../fixtures/cases.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ask, say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";
import { findLoneSurrogate } from "../support/well-formed.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("models");
});
afterEach(() => lab.models.clear());

interface Setup {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly model: StrictModel;
  readonly maxOutputTokens?: number;
}
function start({ name, tools, model, maxOutputTokens = 4_096 }: Setup): ThreadClient {
  const route = `test/${name}`;
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "Help.",
      model: route,
      tools,
      settings: { maxOutputTokens },
    }),
  );
  lab.models.set(route, model);
  return new ThreadClient(api, name, "t1");
}

/** Writes a file and counts how often. */
function filePut(executed: string[]): Tool {
  return defineTool({
    name: "file_put",
    description: "Writes a file.",
    version: "1",
    input: z.object({ path: z.string(), content: z.string() }),
    effect: "once",
    execute: ({ path, content }, { files }) => {
      executed.push(path);
      files.write(path, utf8(content));
      return "written";
    },
  });
}

async function refusalCodes(thread: ThreadClient): Promise<readonly unknown[]> {
  const refused = await thread.of("tool.refused");
  return refused.map(({ payload }) => (payload["refusal"] as { code: string }).code);
}

describe.each(Object.entries(A03.variants))("A03: cut off in a call, finish %s", (variant, cut) => {
  it("A03 [K20] nothing runs, the model is asked once more and answers", async () => {
    const executed: string[] = [];
    const model = new StrictModel([cut, say("smaller then"), say("next")]);
    const { maxOutputTokens } = A03;
    const thread = start({
      name: `a03-${variant}`,
      tools: [filePut(executed)],
      model,
      maxOutputTokens,
    });
    const run = await thread.ask("write it");
    expect(run).toMatchObject({ status: "completed", finish: "stop", text: "smaller then" });
    expect(executed).toEqual([]);
    expect(await thread.file("a.txt")).toBeNull();
    expect(await refusalCodes(thread)).toEqual(["tool_args_truncated"]);
    expect(lastResults(model.requests[1])).toMatchObject([{ isError: true }]);
    expect(await thread.ask("and now?")).toMatchObject({ finish: "stop", text: "next" });
    expect(model.requests).toHaveLength(3);
    expect(model.rejections).toEqual([]);
  });

  it("A03 [K20] when it repeats the run ends as length after one retry, never as stop", async () => {
    const executed: string[] = [];
    const model = new StrictModel([cut, cut, say("next")]);
    const { maxOutputTokens } = A03;
    const thread = start({
      name: `a03-again-${variant}`,
      tools: [filePut(executed)],
      model,
      maxOutputTokens,
    });
    const run = await thread.ask("write it");
    expect(run).toMatchObject({ status: "completed", finish: "length" });
    expect(model.requests).toHaveLength(2);
    expect(executed).toEqual([]);
    expect(await thread.file("a.txt")).toBeNull();
    expect(await refusalCodes(thread)).toEqual(["tool_args_truncated", "tool_args_truncated"]);
    expect(await thread.ask("and now?")).toMatchObject({ finish: "stop", text: "next" });
    expect(model.rejections).toEqual([]);
  });
});

describe("A04: a cut call that still parses", () => {
  it("A04 [K20] the last call is refused, the one before it runs once, each has one result", async () => {
    const executed: string[] = [];
    const tool = defineToolFromJsonSchema({
      name: "file_put",
      description: "Writes a file.",
      version: "1",
      inputSchema: A04.schema,
      effect: "once",
      execute: (args, { files }) => {
        executed.push(String(args["path"]));
        files.write(String(args["path"]), utf8(String(args["content"])));
        return "written";
      },
    });
    // Without the cut the arguments fit: the default would have emptied the file.
    expect(tool.parse({ path: "a.txt" })).toEqual({
      ok: true,
      value: { path: "a.txt", content: "" },
    });
    const model = new StrictModel([A04.step, say("sorry")]);
    const { maxOutputTokens } = A04;
    const thread = start({ name: "a04", tools: [tool], model, maxOutputTokens });
    for (const [path, content] of Object.entries(A04.files)) await thread.writeFile(path, content);
    expect(await thread.ask("tidy up")).toMatchObject({ status: "completed", finish: "stop" });
    expect(executed).toEqual(["b.txt"]);
    expect(await thread.text("a.txt")).toBe("keep me");
    expect(await thread.text("b.txt")).toBe("done");
    expect(await refusalCodes(thread)).toEqual(["tool_args_truncated"]);
    expect(await thread.of("tool.finished")).toHaveLength(1);
    expect(lastResults(model.requests[1])).toMatchObject([
      { name: "file_put", isError: false },
      { name: "file_put", isError: true },
    ]);
    expect(model.rejections).toEqual([]);
  });
});

function constant(name: string, executed: string[] = []): Tool {
  return defineTool({
    name,
    description: `Answers ${name}.`,
    version: "1",
    input: z.object({}),
    effect: "read",
    execute: () => {
      executed.push(name);
      return `${name} says hello`;
    },
  });
}

describe("A06: an invented tool name", () => {
  it("A06 [K21] one error result with suggestions of the agent's own, the call beside it runs once", async () => {
    const executed: string[] = [];
    const owned = A06.tenantOnly.map((name) => constant(name, executed));
    start({ name: "a06-admin", tools: owned, model: new StrictModel([]) });
    const model = new StrictModel(A06.script);
    const tools = A06.granted.map((name) => constant(name, executed));
    const thread = start({ name: "a06", tools, model });
    expect(await thread.ask("weather?")).toMatchObject({
      status: "completed",
      finish: "stop",
      text: "done",
    });
    expect(executed).toEqual(["get_time"]);
    const [refused] = await thread.of("tool.refused");
    expect(refused?.payload["refusal"]).toMatchObject({ code: "unknown_tool" });
    const message = JSON.stringify(refused?.payload["refusal"]);
    const suggested = /did you mean: ([^?]*)\?/.exec(message)?.[1]?.split(", ") ?? [];
    expect(suggested).toContain("get_weather");
    expect(suggested.length).toBeLessThanOrEqual(5);
    expect(suggested.filter((name) => !A06.granted.some((granted) => granted === name))).toEqual(
      [],
    );
    expect(lastResults(model.requests[1]).map((result) => result.isError)).toEqual([true, false]);
    const types = (await thread.events()).map(({ header }) => header.type);
    expect(types.filter((type) => type.includes("approval"))).toEqual([]);
    expect(JSON.stringify(model.requests)).not.toContain("admin_purge");
    expect(model.rejections).toEqual([]);
  });

  it("A06 [K21] many near names give at most five suggestions", async () => {
    const names = Array.from({ length: 9 }, (_, index) => `get_weathe${index}`);
    const model = new StrictModel([ask(["get_weather"]), say("done")]);
    const thread = start({ name: "a06-many", tools: names.map((name) => constant(name)), model });
    await thread.ask("weather?");
    const [result] = lastResults(model.requests[1]);
    expect(result?.output.match(/get_weathe\d/g)).toHaveLength(5);
  });

  it("A06 [K21] three steps with nothing but unknown tools end the run as loop_guard", async () => {
    const wrong = ask(["get_wether"]);
    const model = new StrictModel([wrong, wrong, wrong, say("never asked")]);
    const thread = start({
      name: "a06-loop",
      tools: A06.granted.map((name) => constant(name)),
      model,
    });
    expect(await thread.ask("weather?")).toMatchObject({
      status: "completed",
      finish: "loop_guard",
    });
    expect(model.requests).toHaveLength(3);
  });
});

describe("A07: two calls share an id", () => {
  it.each(["always", "never"] as const)(
    "A07 [K22] neither runs, with approval %s, and each has one result of its own",
    async (approval) => {
      const refunded: number[] = [];
      const refund = defineTool({
        name: A07.tool,
        description: "Pays back.",
        version: "1",
        input: z.object({ amount: z.number() }),
        effect: "once",
        approval,
        execute: ({ amount }) => {
          refunded.push(amount);
          return "paid";
        },
      });
      const model = new StrictModel([A07.step, say("asked a person")]);
      const thread = start({ name: `a07-${approval}`, tools: [refund], model });
      expect(await thread.ask("refund")).toMatchObject({ status: "completed", finish: "stop" });
      expect(refunded).toEqual([]);
      expect(await refusalCodes(thread)).toEqual(["duplicate_call_id", "duplicate_call_id"]);
      const results = lastResults(model.requests[1]);
      expect(results).toHaveLength(2);
      expect(new Set(results.map((result) => result.callId)).size).toBe(2);
      expect(model.rejections).toEqual([]);
    },
  );
});

describe("A10: a cut inside a character", () => {
  it("A10 [L7] no length at the cap leaves half a character anywhere", async () => {
    const { cap, sweep, emoji, tail } = A10;
    const results = [
      ...sweep.map((shift) => "a".repeat(cap - 1 + shift) + emoji + tail),
      // One emoji at each alignment with both cuts of the preview, wherever they are.
      ...[0, 1, 2, 3].map((shift) => "a".repeat(shift) + emoji.repeat(cap)),
      A10.toolLiteral,
    ];
    const produce = defineTool({
      name: "produce",
      description: "Answers a text.",
      version: "1",
      input: z.object({ index: z.number() }),
      effect: "read",
      limits: { maxResultBytes: cap },
      execute: ({ index }) => results[index] ?? "",
    });
    const calls = results.map((_, index) => ask(["produce", { index }]));
    const model = new StrictModel([
      ...calls,
      [{ text: "half \uD83D" }, { finish: "stop" }],
      say("next"),
    ]);
    const thread = start({ name: "a10", tools: [produce], model });
    const runId = await thread.send(A10.userText);
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "half \uFFFD" });
    expect(await thread.ask("go on")).toMatchObject({ finish: "stop", text: "next" });
    expect(model.rejections).toEqual([]);
    expect(model.requests).toHaveLength(results.length + 2);

    const shown = lastResults(model.requests[results.length]);
    expect(shown[0]?.output).toBe("bad \uFFFD end");
    expect(model.requests[0]?.messages[0]?.content[0]).toEqual({
      type: "text",
      text: "bad \uFFFD",
    });
    for (const [index, request] of model.requests.slice(1, results.length + 1).entries()) {
      const [result] = lastResults(request);
      expect(utf8(result?.output ?? "").byteLength).toBeLessThanOrEqual(cap);
      if (index < results.length - 1) expect(result?.output).not.toContain("\uFFFD");
    }
    // Stored, exported, listed and streamed: each as bytes that decode strictly, and strings that hold no half.
    const events = await thread.events();
    expect(findLoneSurrogate(events, "events")).toBeNull();
    expect(findLoneSurrogate(await thread.messages(), "messages")).toBeNull();
    const strings = JSON.stringify(events);
    expect(fromUtf8(utf8(strings))).toBe(strings);
    expect(findLoneSurrogate(await (await thread.stream(runId)).toEnd(), "stream")).toBeNull();
    expect(await thread.chainFault()).toBeNull();
    const whole = results.find((result) => utf8(result).byteLength > cap) ?? "";
    const [handle] = (await thread.of("tool.finished")).flatMap(({ payload }) => {
      const { handle: path } = payload["result"] as { handle: string | null };
      return path === null ? [] : [path];
    });
    expect(await thread.text(handle ?? "")).toBe(whole);
  });
});
