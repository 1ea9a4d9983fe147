/** Handed cases of approvals, through the public API: answered twice, superseded, restarted. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { ApprovalView, Page, RunView } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json } from "#shared/json.ts";
import { askHuman } from "#tools/ask-human.ts";
import { Api, type Reply } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ask, say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("approvals");
});
afterEach(() => lab.models.clear());

function start(name: string, tools: readonly Tool[], model: StrictModel): ThreadClient {
  const route = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
  return new ThreadClient(api, name, "t1");
}

/** Needs a person, and counts what it was run with. */
function guarded(name: string, executed: Json[], effect: "once" | "idempotent" = "once"): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    version: "1",
    input: z.object({ amount: z.number().default(1) }),
    effect,
    approval: "always",
    execute: (args) => {
      executed.push(args);
      return `${name} done`;
    },
  });
}

async function approvals(thread: ThreadClient): Promise<readonly ApprovalView[]> {
  const reply = await thread.api.json<Page<ApprovalView>>("GET", `${thread.path}/approvals`);
  expect(reply.status).toBe(200);
  return reply.body.items;
}

/** Waits until the thread has `count` open approvals. */
async function opened(thread: ThreadClient, count = 1): Promise<readonly ApprovalView[]> {
  return thread.api.until(async () => {
    const open = (await approvals(thread)).filter(({ status }) => status === "open");
    return open.length === count ? open : null;
  });
}

/** Opaque id of the key that made the thread, and that decides in these tests. */
async function ownerOf(thread: ThreadClient): Promise<string> {
  const { body } = await thread.api.json<{ readonly owner: string }>("GET", thread.path);
  return body.owner;
}

interface Problem {
  readonly code: string;
  readonly context: { readonly [key: string]: Json };
}
function decide(
  thread: ThreadClient,
  id: string,
  body: { readonly [key: string]: Json },
): Promise<Reply<ApprovalView & Problem>> {
  return thread.api.json("POST", `${thread.path}/approvals/${id}/decision`, body);
}

describe("B05: the same approval is decided again", () => {
  it("B05 [A3] runs once; every later attempt is told the decision and recorded", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([ask(["wire", { amount: 40 }]), say("sent")]);
    const thread = start("b05", [guarded("wire", executed)], model);
    const runId = await thread.send("wire 40");
    const [approval] = await opened(thread);
    const id = approval?.approvalId ?? "";
    expect(approval).toMatchObject({ kind: "tool", tool: "wire", args: { amount: 40 }, runId });
    expect(executed).toEqual([]);

    const both = await Promise.all([
      decide(thread, id, { decision: "approve" }),
      decide(thread, id, { decision: "approve" }),
    ]);
    const denied = await decide(thread, id, { decision: "deny" });
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "sent" });
    await abortAllDurableObjects();
    const again = await decide(thread, id, { decision: "approve" });

    const decidedBy = await ownerOf(thread);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const refused = [...both.filter(({ status }) => status === 409), denied, again];
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body).toMatchObject({
        code: "approval_already_decided",
        context: { approvalId: id, decision: "approved", decidedBy },
      });
    }
    expect(executed).toEqual([{ amount: 40 }]);
    expect(await thread.of("approval.requested")).toHaveLength(1);
    expect(await thread.of("approval.decided")).toHaveLength(1);
    const attempts = await thread.of("approval.refused");
    expect(attempts.map(({ payload }) => payload)).toEqual([
      { attempted: "approve", reason: "approval_already_decided" },
      { attempted: "deny", reason: "approval_already_decided" },
      { attempted: "approve", reason: "approval_already_decided" },
    ]);
    const [started] = await thread.of("tool.started");
    expect(started?.payload["verdicts"]).toMatchObject({ approval: id });
    expect(model.requests).toHaveLength(2);
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });
});

describe("B08: a new message while an approval is pending", () => {
  it.each(["queue", "steer"] as const)(
    "B08 [A6] delivery %s is answered next, the call is closed unexecuted, a later approve is superseded",
    async (delivery) => {
      const executed: Json[] = [];
      const totals: string[] = [];
      const total = defineTool({
        name: "total",
        description: "Answers the total.",
        version: "1",
        input: z.object({}),
        effect: "read",
        execute: () => {
          totals.push("total");
          return "42";
        },
      });
      const model = new StrictModel([ask(["delete"]), ask(["total"]), say("The total is 42.")]);
      const thread = start(`b08-${delivery}`, [guarded("delete", executed), total], model);
      const runId = await thread.send("delete it");
      const [approval] = await opened(thread);
      const view = await thread.api.json<RunView>("GET", `${thread.path}/runs/${runId}`);
      expect(view.body.status).toBe("waiting");

      const second = await thread.send("what is the total?", { delivery });
      expect(second).toBe(runId);
      expect(await thread.ended(runId)).toMatchObject({ text: "The total is 42." });
      const late = await decide(thread, approval?.approvalId ?? "", { decision: "approve" });

      const decidedBy = await ownerOf(thread);
      expect(late.status).toBe(409);
      expect(late.body).toMatchObject({
        code: "approval_superseded",
        context: { decision: "superseded", decidedBy },
      });
      expect(executed).toEqual([]);
      expect(totals).toEqual(["total"]);
      // One tool event: what has a result was started, but for the one closed call, and it has one result.
      const [answered] = await thread.of("model.answered");
      const [closed] = (answered?.payload["parts"] ?? []) as readonly { callId: string }[];
      const ofCalls = (await thread.events()).flatMap(({ header }) =>
        header.type.startsWith("tool.") ? [[header.type, header.call === closed?.callId]] : [],
      );
      expect(ofCalls).toEqual([
        ["tool.refused", true],
        ["tool.started", false],
        ["tool.finished", false],
      ]);
      expect(lastResults(model.requests[1])).toMatchObject([
        { name: "delete", isError: true, output: expect.stringContaining("not executed") },
      ]);
      expect(model.requests[1]?.messages.at(-1)).toMatchObject({
        role: "user",
        content: [{ text: "what is the total?" }],
      });
      expect(lastResults(model.requests[2])).toMatchObject([{ name: "total", output: "42" }]);
      expect(model.requests).toHaveLength(3);
      expect(model.rejections).toEqual([]);
    },
  );
});

describe("A07: two calls share an id", () => {
  it("A07 [K22] no approval exists for either, so none can be approved", async () => {
    const executed: Json[] = [];
    const twice = ask(["refund", { amount: 10 }], ["refund", { amount: 900 }]).map((part) =>
      "call" in part ? { call: { ...part.call, id: "x1" } } : part,
    );
    const model = new StrictModel([twice, say("asked")]);
    const thread = start("a07-approval", [guarded("refund", executed)], model);
    expect(await thread.ask("refund")).toMatchObject({ status: "completed" });
    expect(await approvals(thread)).toEqual([]);
    const x1 = await decide(thread, "x1", { decision: "approve" });
    expect(x1).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(executed).toEqual([]);
    expect(model.rejections).toEqual([]);
  });
});

describe("a question", () => {
  it("[A4] is answered by its schema; what does not fit is refused and it stays open", async () => {
    const schema = { type: "object", properties: { day: { type: "string" } }, required: ["day"] };
    const model = new StrictModel([
      ask(["ask_human", { question: "Which day?", schema }]),
      say("ok"),
    ]);
    const thread = start("question", [askHuman], model);
    const runId = await thread.send("book it");
    const [open] = await opened(thread);
    const id = open?.approvalId ?? "";
    expect(open).toMatchObject({ kind: "question", question: "Which day?", args: null });
    expect(open?.answerSchema).toEqual(schema);

    const wrong = await decide(thread, id, { decision: "answer", answer: { day: 3 } });
    expect(wrong).toMatchObject({ status: 422, body: { code: "approval_answer_invalid" } });
    const misfit = await decide(thread, id, { decision: "approve" });
    expect(misfit).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    const bare = await decide(thread, id, { decision: "answer" });
    expect(bare).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    expect((await opened(thread))[0]?.approvalId).toBe(id);

    const answered = await decide(thread, id, { decision: "answer", answer: { day: "Monday" } });
    expect(answered).toMatchObject({
      status: 200,
      body: {
        status: "decided",
        decision: "answered",
        answer: { day: "Monday" },
        decidedBy: await ownerOf(thread),
      },
    });
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "ok" });
    expect(lastResults(model.requests[1])).toMatchObject([
      { name: "ask_human", isError: false, output: '{"day":"Monday"}' },
    ]);
  });
});
