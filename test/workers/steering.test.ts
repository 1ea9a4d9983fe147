/** Cancelling, interrupting and branching through the public API, in workerd. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { Receipt } from "#kernel/commands.ts";
import type { BranchView, MessageView, Page } from "#ports/thread-gateway.ts";
import type { Model, PromptMessage } from "#ports/model.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ask, say, ScriptModel } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("steering");
});
afterEach(() => lab.models.clear());

function start(name: string, model: Model, tools: readonly Tool[] = []): ThreadClient {
  const route = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
  return new ThreadClient(api, name, "t1");
}

const texts = (messages: readonly PromptMessage[] = []): readonly string[] =>
  messages.flatMap((message) =>
    message.role === "tool"
      ? message.content.map((part) => part.output)
      : message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );

async function post(thread: ThreadClient, path: string, body?: Json): Promise<Receipt> {
  const reply = await api.json<Receipt>("POST", thread.path + path, body);
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}
async function messages(thread: ThreadClient, branch = ""): Promise<readonly MessageView[]> {
  const query = branch === "" ? "" : `&branch=${branch}`;
  const page = await api.json<Page<MessageView>>(
    "GET",
    `${thread.path}/messages?limit=200${query}`,
  );
  expect(page.status).toBe(200);
  return page.body.items;
}
async function branches(thread: ThreadClient): Promise<readonly BranchView[]> {
  const reply = await api.json<{ items: BranchView[] }>("GET", `${thread.path}/branches`);
  return reply.body.items;
}
const words = (items: readonly MessageView[]): readonly string[] =>
  items.map(({ content }) => JSON.stringify(content).replace(/.*"text":"([^"]*)".*/, "$1"));

describe("B17: cancelled while a tool with an effect keeps running", () => {
  it("B17 [K16] settles at once, calls no model, and the late result stays with its run", async () => {
    let sent = 0;
    let running = false;
    let released = false;
    const send = defineTool({
      name: "send",
      description: "Sends.",
      version: "1",
      input: z.object({}),
      effect: "once",
      // Ignores its signal, as a request that is already out does.
      execute: async () => {
        running = true;
        while (!released) await new Promise((resolve) => setTimeout(resolve, 5));
        sent += 1;
        return "sent it";
      },
    });
    const model = new StrictModel((_, index) => (index === 0 ? ask(["send"]) : say("it may be")));
    const thread = start("b17", model, [send]);
    const runId = await thread.send("send it");
    await api.until(async () => (running ? true : null));
    const asked = Date.now();
    await post(thread, `/runs/${runId}/cancel`, {});
    const run = await thread.ended(runId);
    expect(Date.now() - asked).toBeLessThan(500);
    expect(run.status).toBe("cancelled");
    released = true;
    const late = await api.until(async () => (await thread.of("tool.late"))[0] ?? null);
    expect(sent).toBe(1);
    expect(late.header.run).toBe(runId);
    expect(late.payload).toMatchObject({ result: { status: "ok", output: "sent it" } });
    expect(model.requests).toHaveLength(1);
    expect(await thread.of("run.started")).toHaveLength(1);
    const finished = await thread.of("tool.finished");
    expect(finished).toHaveLength(1);
    expect(await thread.of("tool.refused")).toHaveLength(0);

    expect(await thread.ask("was it sent?")).toMatchObject({ finish: "stop", text: "it may be" });
    expect(model.requests).toHaveLength(2);
    const results = model.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results).toHaveLength(1);
    expect(texts(results)[0]).toMatch(/not known/);
    expect(texts(results)[0]).not.toMatch(/not executed/);
    expect(model.rejections).toEqual([]);
    expect(sent).toBe(1);
    expect(await thread.chainFault()).toBeNull();
  });
});

describe("a message that interrupts", () => {
  it("[K40] cancels the live run and starts at once", async () => {
    const model = new ScriptModel([[{ text: "thinking" }, { hang: true }], say("yes?")], {
      by: "call",
    });
    const thread = start("interrupt", model);
    const first = await thread.send("think");
    await api.until(async () => (model.waiting === 1 ? true : null));
    const waits = await thread.send("later");
    const second = await thread.send("stop", { delivery: "interrupt" });
    expect(await thread.ended(second)).toMatchObject({ status: "completed", text: "yes?" });
    expect(await thread.ended(first)).toMatchObject({
      status: "cancelled",
      message: "interrupted",
    });
    expect(texts(model.requests[1]?.messages)).toEqual(["think", "stop"]);
    expect((await thread.ended(waits)).status).toBe("failed");
    const starts = await thread.of("run.started");
    expect(starts.map(({ header }) => header.run)).toEqual([first, second, waits]);
    expect(model.waiting).toBe(0);
  });
});

describe("branches", () => {
  it("[K41] [K42] [K46] another answer, then another text, each beside the old one", async () => {
    const model = new StrictModel((_, index) => say(`a${index}`));
    const thread = start("branches", model);
    await thread.ask("one");
    await thread.ask("two");
    const [, , , answer] = await messages(thread);
    const again = await post(thread, `/messages/${answer?.messageId}/regenerate`);
    expect(again).toMatchObject({ disposition: "started", branch: expect.stringMatching(/^br_/) });
    expect(await thread.ended(again.runId ?? "")).toMatchObject({ text: "a2" });
    expect(texts(model.requests[2]?.messages)).toEqual(["one", "a0", "two"]);
    expect(words(await messages(thread))).toEqual(["one", "a0", "two", "a2"]);
    expect((await messages(thread)).map(({ superseded }) => superseded)).not.toContain(true);
    const old = await messages(thread, "main");
    expect(words(old)).toEqual(["one", "a0", "two", "a1"]);
    expect(old.map(({ superseded }) => superseded)).toEqual([false, false, false, true]);

    const user = (await messages(thread)).find((message) => words([message])[0] === "one");
    const edited = await post(thread, `/messages/${user?.messageId}/edit`, { text: "eins" });
    await thread.ended(edited.runId ?? "");
    expect(texts(model.requests[3]?.messages)).toEqual(["eins"]);
    expect(words(await messages(thread))).toEqual(["eins", "a3"]);
    const all = await messages(thread, "all");
    expect(words(all)).toEqual(["one", "a0", "two", "a1", "a2", "eins", "a3"]);
    expect(all.filter(({ superseded }) => !superseded).map(({ branch }) => branch)).toEqual([
      edited.branch,
      edited.branch,
    ]);
    expect(await branches(thread)).toMatchObject([
      { branch: "main", parent: null, active: false },
      { branch: again.branch, parent: "main", reason: "regenerate", active: false },
      { branch: edited.branch, parent: "main", reason: "edit", active: true },
    ]);
    expect(model.rejections).toEqual([]);
  });

  it("[K43] [K44] [K47] an empty window, and back: files and state stay, the old window returns", async () => {
    const model = new StrictModel((_, index) => say(`a${index}`));
    const thread = start("clearing", model);
    await thread.ask("one");
    await thread.writeFile("kept.txt", "kept");
    const cleared = await post(thread, "/clear");
    expect(cleared).toMatchObject({ disposition: "recorded", runId: null });
    expect(await messages(thread)).toEqual([]);
    await thread.ask("two");
    expect(texts(model.requests[1]?.messages)).toEqual(["two"]);
    expect(await thread.text("kept.txt")).toBe("kept");
    await thread.writeFile("later.txt", "later");
    await post(thread, "/branches/main/select");
    await thread.ask("three");
    expect(texts(model.requests[2]?.messages)).toEqual(["one", "a0", "three"]);
    expect(words(await messages(thread))).toEqual(["one", "a0", "three", "a2"]);
    expect(words(await messages(thread, cleared.branch))).toEqual(["two", "a1"]);
    expect(await thread.text("later.txt")).toBe("later");
    expect(await thread.chainFault()).toBeNull();
    const heads = await branches(thread);
    expect(heads.map(({ active }) => active)).toEqual([true, false]);
  });

  it("[K44] none while a run is live: 409 run_active, and nothing is written", async () => {
    const model = new ScriptModel([[{ hang: true }], say("at last")], { by: "call" });
    const thread = start("busy", model);
    const runId = await thread.send("hang", { messageId: "m1" });
    await api.until(async () => (model.waiting === 1 ? true : null));
    const before = (await thread.events()).length;
    for (const [path, body] of [
      ["/messages/m1/regenerate", undefined],
      ["/messages/m1/edit", { text: "x" }],
      ["/clear", undefined],
    ] as const) {
      const reply = await api.json<{ code: string }>("POST", thread.path + path, body);
      expect([reply.status, reply.body.code]).toEqual([409, "run_active"]);
    }
    expect(await thread.events()).toHaveLength(before);
    await post(thread, `/runs/${runId}/cancel`, {});
    const again = await post(thread, "/messages/m1/regenerate");
    expect(await thread.ended(again.runId ?? "")).toMatchObject({ text: "at last" });
  });

  it("[K2] [K44] a repeated key branches once; unknown messages and branches are 404", async () => {
    const model = new StrictModel((_, index) => say(`a${index}`));
    const thread = start("keys", model);
    await thread.ask("one");
    const path = `${thread.path}/clear`;
    const key = { "idempotency-key": "once" };
    const first = await api.json("POST", path, undefined, key);
    expect((await api.json("POST", path, undefined, key)).body).toEqual(first.body);
    expect(await branches(thread)).toHaveLength(2);
    const body = { text: "two", messageId: "own-id" };
    const sent = await thread.send("one again", { messageId: "m2" });
    await thread.ended(sent);
    const edited = await post(thread, "/messages/m2/edit", body);
    await thread.ended(edited.runId ?? "");
    expect(await post(thread, "/messages/m2/edit", body)).toEqual(edited);
    expect(await branches(thread)).toHaveLength(3);
    const other = await api.json<{ code: string }>("POST", `${thread.path}/messages`, {
      text: "another text",
      messageId: "own-id",
    });
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    const paths = ["/messages/nobody/regenerate", "/branches/br_none/select"];
    for (const missing of paths)
      expect((await api.json("POST", thread.path + missing)).status).toBe(404);
    const edit = await api.json("POST", `${thread.path}/messages/nobody/edit`, { text: "x" });
    expect(edit.status).toBe(404);
    expect((await api.json("GET", `${thread.path}/messages?branch=br_none`)).status).toBe(404);
  });
});
