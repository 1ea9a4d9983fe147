/** Handed cases of model output: arguments, ids, empty answers and filters, through the public API. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool, defineToolFromJsonSchema } from "#authoring/define-tool.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { AnswerPart } from "#kernel/events.ts";
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import type { ApprovalView, Page } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { A01, A08, A09, A14, A15 } from "../fixtures/cases-model-output.ts";
import { Api } from "../support/api.ts";
import { NO_USAGE } from "../support/kernel-fixture.ts";
import { deploy, lab } from "../support/lab.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { storeTurn, TOUCH } from "../support/stored-turn.ts";
import { lastResults, type Reply, StrictModel } from "../support/strict-model.ts";
import { say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("model-output");
});
afterEach(() => {
  lab.models.clear();
  lab.hooks = DEFAULT_HOOKS;
});

function start(name: string, tools: readonly Tool[], reply: Reply) {
  const route = `test/${name}`;
  const model = new StrictModel(reply, route);
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
  return { model, thread: new ThreadClient(api, name, "t1") };
}

/** The first replies in order, then plain answers. */
const script =
  (...replies: readonly ReturnType<Reply>[]): Reply =>
  (_request, index) =>
    replies[index] ?? say(`answer ${index}`);

describe.each(Object.entries(A01.variants))("A01: arguments, %s", (variant, { step, given }) => {
  it("A01 [T11] are decoded once, and policy, approval, log, tool and the next request see the same object", async () => {
    const toTool = [...A01.tools].find(({ name }) => name === step[0].call.name);
    const executed: JsonObject[] = [];
    const judged: Json[] = [];
    lab.hooks = {
      ...DEFAULT_HOOKS,
      policy: {
        check: (view) => {
          if (view.kind === "tool") judged.push(view.args);
          return { allow: true, verdict: "allow" };
        },
      },
    };
    const tool = defineToolFromJsonSchema({
      name: step[0].call.name,
      description: "Takes what it is given.",
      version: "1",
      inputSchema: toTool?.schema ?? {},
      effect: "once",
      approval: "always",
      execute: (args) => {
        executed.push(args);
        return "done";
      },
    });
    const { model, thread } = start(
      `a01-${variant.replaceAll("_", "-")}`,
      [tool],
      script([...step, { finish: "tool_calls" }], say("ok")),
    );
    const runId = await thread.send("go");
    const approvals = `${thread.path}/approvals`;
    const { approvalId, args } = await api.until(async () => {
      const open = await api.json<Page<ApprovalView>>("GET", `${approvals}?state=open`);
      return open.body.items[0] ?? null;
    });
    expect(args).toEqual(given);
    expect(executed).toEqual([]);
    const decision = { decision: "approve" };
    const decided = await api.json("POST", `${approvals}/${approvalId}/decision`, decision);
    expect(decided.status).toBe(200);
    expect(await thread.ended(runId)).toMatchObject({
      status: "completed",
      finish: "stop",
      text: "ok",
    });
    expect(executed).toEqual([given]);
    // Asked before the person was, and again when it runs.
    expect(judged).toEqual([given, given]);
    const [requested] = await thread.of("approval.requested");
    expect(requested?.payload["args"]).toEqual(given);
    const [started] = await thread.of("tool.started");
    expect(started?.payload["args"]).toEqual(given);
    const [answered] = await thread.of("model.answered");
    expect(answered?.payload["parts"]).toMatchObject([
      { args: given, argsText: step[0].call.args },
    ]);
    const sent = model.requests[1]?.messages.findLast(({ role }) => role === "assistant");
    expect(sent?.content).toMatchObject([{ type: "call", args: given }]);
    expect(model.rejections).toEqual([]);
  });
});

describe("A08: one call id in every step", () => {
  it("A08 [K22] each call runs once with its own result and key, also over a kill between steps", async () => {
    const executed: string[] = [];
    const read = defineTool({
      name: "read",
      description: "Reads.",
      version: "1",
      input: z.object({ p: z.string() }),
      effect: "once",
      execute: ({ p }) => {
        executed.push(p);
        return `content of ${p}, reading ${executed.length}`;
      },
    });
    const [first, second, third, end] = A08.script;
    const { model, thread } = start(
      "a08",
      [read],
      script(first, second, [{ hang: true }], third, end),
    );
    const runId = await thread.send("read it");
    await expect.poll(() => model.requests.length, { timeout: 10_000 }).toBe(3);
    await abortAllDurableObjects();
    expect(await thread.ended(runId)).toMatchObject({
      status: "completed",
      finish: "stop",
      text: "end",
    });
    expect(executed).toEqual(["a", "b", "b"]);
    const keys = (await thread.of("tool.started")).map(({ payload }) => payload["idempotencyKey"]);
    expect(new Set(keys).size).toBe(3);
    expect(keys.filter((key) => String(key).includes("read:0"))).toEqual([]);
    const results = model.requests.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results.map(({ content }) => content[0])).toMatchObject([
      { output: "content of a, reading 1" },
      { output: "content of b, reading 2" },
      { output: "content of b, reading 3" },
    ]);
    expect(await thread.of("tool.refused")).toEqual([]);
    // Pairing and uniqueness of ids within each request are the model's own checks.
    expect(model.rejections).toEqual([]);
  });
});

const touch = defineTool({
  name: "touch",
  description: "Answers nothing.",
  version: "1",
  input: z.object({}),
  effect: "read",
  execute: () => "",
});

describe("A09: nothing to say", () => {
  it.each(Object.entries(A09.empty))(
    "A09 [K9] [K23] %s: one retry, then empty_output, and the thread goes on",
    async (variant, step) => {
      const { model, thread } = start(
        `a09-${variant.replaceAll("_", "-")}`,
        [touch],
        script(step, step),
      );
      const run = await thread.ask("go");
      expect(run).toMatchObject({ status: "completed", finish: "empty_output" });
      expect(run.message).toBe("The model gave no answer.");
      expect(model.requests).toHaveLength(2);
      expect((await thread.of("model.answered")).map(({ payload }) => payload["finish"])).toEqual([
        "stop",
        "stop",
      ]);
      expect(await thread.ask("again")).toMatchObject({ finish: "stop", text: "answer 2" });
      expect(model.rejections).toEqual([]);
    },
  );

  it("A09 [K9] a tool that returns nothing, called beside a blank text, is shown as a placeholder", async () => {
    const [call, finish] = A09.toolEmpty;
    const { model, thread } = start(
      "a09-tool-empty",
      [touch],
      script([{ text: " \n" }, call, finish], say("done")),
    );
    expect(await thread.ask("go")).toMatchObject({ finish: "stop", text: "done" });
    expect(lastResults(model.requests[1])[0]?.output.trim()).not.toBe("");
    expect(await thread.ask("again")).toMatchObject({ finish: "stop", text: "answer 2" });
    expect(model.rejections).toEqual([]);
  });
});

describe("A09: a session stored before any rule about empty blocks", () => {
  /** Written by hand, past every rule of today: blank parts, an empty result, a blank message. */
  const STORED = [
    { text: "", parts: [{ type: "text", text: "" }] },
    { text: " ", parts: [{ type: "text", text: " \n" }] },
    { text: "m3", parts: [{ type: "reasoning", text: "hm", meta: null }] },
    { text: "m4", parts: [] },
    { text: "m5", parts: [{ type: "text", text: "" }, TOUCH] },
  ] as const satisfies readonly { text: string; parts: readonly AnswerPart[] }[];

  it("A09 [K8] [K9] its next turn is answered, over a restart too", async () => {
    const { model, thread } = start("a09-stored", [touch], script(say("done"), say("next")));
    expect(await thread.ask("pins the agent")).toMatchObject({ finish: "stop", text: "done" });
    const [pin] = await thread.of("definition.pinned");
    const definition = pin?.header.definition ?? null;
    const stored = new StoredThread("model-output", "a09-stored", "t1");
    await stored.asAnotherBuild(THREAD_CATALOGUE, (log) => {
      for (const [index, turn] of STORED.entries()) storeTurn(log, { index, ...turn, definition });
    });
    await abortAllDurableObjects();
    expect(await thread.ask("again")).toMatchObject({ status: "completed", text: "next" });
    const [, sent] = model.requests;
    // What the strict model refuses is not there; what was said is, and the empty result has its placeholder.
    const texts = JSON.stringify(sent?.messages);
    for (const { text } of STORED)
      if (text.trim() !== "") expect(texts).toContain(JSON.stringify(text));
    const results = sent?.messages.flatMap(({ role, content }) => (role === "tool" ? content : []));
    expect(results).toMatchObject([{ callId: TOUCH.callId, output: "(no output)" }]);
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });
});

describe("A15: reasoning over a restart of its object", () => {
  it("A15 [K24] opaque metadata comes back byte for byte, with all of its calls", async () => {
    const meta = {
      origin: "test/a15",
      part: { sig: "S(rs_1)+/=\u0000é漢🧪", n: 1e21, deep: [null, { b: 1, a: 2 }] },
      nextCall: null,
    };
    const seen: ModelRequest[] = [];
    const route = "test/a15";
    const model: Model = {
      route,
      async *stream(request): AsyncGenerator<ModelPart> {
        seen.push(request);
        if (seen.length === 1) {
          yield { type: "reasoning", text: A15.reasoning, meta };
          for (const [index, argsText] of A15.calls.entries())
            yield { type: "call", providerCallId: `fc_${index}`, name: "look", argsText };
        } else yield { type: "text", text: A15.text };
        const reason = seen.length === 1 ? "tool_calls" : "stop";
        yield { type: "finish", reason, raw: reason, usage: NO_USAGE };
      },
    };
    const look = defineTool({
      name: "look",
      description: "Looks.",
      version: "1",
      input: z.object({ n: z.number() }),
      effect: "read",
      execute: ({ n }) => `seen ${n}`,
    });
    const name = "a15";
    deploy(
      defineAgent({ name, description: name, instructions: "Help.", model: route, tools: [look] }),
    );
    lab.models.set(route, model);
    const thread = new ThreadClient(api, name, "t1");
    await thread.ask("u");
    await abortAllDurableObjects();
    expect(await thread.ask("again")).toMatchObject({ finish: "stop", text: A15.text });
    const assistant = seen.at(-1)?.messages.find(({ role }) => role === "assistant");
    expect(assistant?.content.map(({ type }) => type)).toEqual(["reasoning", "call", "call"]);
    const [reasoning] = assistant?.content ?? [];
    expect(reasoning).toMatchObject({ text: A15.reasoning });
    // Not only equal: the same bytes, order of keys included.
    expect(reasoning?.type === "reasoning" && JSON.stringify(reasoning.meta)).toBe(
      JSON.stringify(meta),
    );
  });
});

describe("A14: withheld by the provider", () => {
  it.each(Object.entries(A14.filtered))(
    "A14 [K23] [K28] %s: asked once, no tool, a notice",
    async (variant, { step, text }) => {
      const { model, thread } = start(`a14-${variant}`, [], script(step));
      const run = await thread.ask("q1");
      expect(run).toMatchObject({ status: "completed", finish: "content_filter", text });
      expect(run.message).toMatch(/withheld/);
      expect(model.requests).toHaveLength(1);
      expect(await thread.of("tool.started")).toEqual([]);
      expect(await thread.ask("q2")).toMatchObject({
        finish: "stop",
        text: "answer 1",
        message: null,
      });
      expect(model.rejections).toEqual([]);
    },
  );

  it("A14 [K23] disguised as an empty answer: one retry, then empty_output", async () => {
    const { model, thread } = start("a14-disguised", [], script(A14.disguised, A14.disguised));
    expect(await thread.ask("q1")).toMatchObject({ finish: "empty_output" });
    expect(model.requests).toHaveLength(2);
    expect(await thread.ask("q2")).toMatchObject({ finish: "stop", text: "answer 2" });
    expect(model.rejections).toEqual([]);
  });

  it("A14 [K23] a call inside a filtered answer is not executed", async () => {
    const executed: string[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      version: "1",
      input: z.object({}),
      effect: "once",
      execute: () => {
        executed.push("pay");
        return "paid";
      },
    });
    const step = [
      { call: { id: "c1", name: "pay", args: "{}" } },
      { finish: "content_filter" },
    ] as const;
    const { model, thread } = start("a14-call", [pay], script(step));
    expect(await thread.ask("q1")).toMatchObject({ finish: "content_filter" });
    expect(executed).toEqual([]);
    expect(await thread.ask("q2")).toMatchObject({ finish: "stop" });
    expect(model.rejections).toEqual([]);
  });
});
