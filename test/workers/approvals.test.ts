/** Approvals in workerd: kills and deploys while a call waits, expiry by alarm, the inbox, and who may see and decide. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { ApprovalView, Page } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ask, say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("waits");
});
afterEach(() => lab.models.clear());

function install(name: string, tools: readonly Tool[], instructions = "Help."): void {
  deploy(defineAgent({ name, description: name, instructions, model: `test/${name}`, tools }));
}
function start(name: string, tools: readonly Tool[], model: StrictModel): ThreadClient {
  install(name, tools);
  lab.models.set(`test/${name}`, model);
  return new ThreadClient(api, name, "t1");
}

function wire(executed: Json[], over: { version?: string; approvalTimeoutMs?: number } = {}): Tool {
  const { version = "1", approvalTimeoutMs } = over;
  return defineTool({
    name: "wire",
    description: "Sends money.",
    version,
    input: z.object({ amount: z.number() }),
    effect: "once",
    approval: "always",
    ...(approvalTimeoutMs === undefined ? {} : { limits: { approvalTimeoutMs } }),
    execute: (args) => {
      executed.push(args);
      return "sent";
    },
  });
}

async function list(thread: ThreadClient, query = ""): Promise<readonly ApprovalView[]> {
  const path = `${thread.path}/approvals${query}`;
  const reply = await thread.api.json<Page<ApprovalView>>("GET", path);
  expect(reply.status).toBe(200);
  return reply.body.items;
}
async function opened(thread: ThreadClient, count = 1): Promise<readonly ApprovalView[]> {
  return thread.api.until(async () => {
    const open = await list(thread, "?state=open");
    return open.length === count ? open : null;
  });
}
function decide(
  { path }: ThreadClient,
  id: string,
  body: { readonly [key: string]: Json },
  more: { readonly by?: Api; readonly key?: string } = {},
) {
  const headers: Record<string, string> =
    more.key === undefined ? {} : { "idempotency-key": more.key };
  return (more.by ?? api).json<ApprovalView & { readonly code: string }>(
    "POST",
    `${path}/approvals/${id}/decision`,
    body,
    headers,
  );
}

describe("while a call waits", () => {
  it("[A5] [A7] 25 kills and two deploys: exactly what was shown runs, once", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([
      ask(["wire", { amount: 40 }], ["wire", { amount: 7 }]),
      say("both"),
    ]);
    const thread = start("killed", [wire(executed)], model);
    const runId = await thread.send("wire it");
    const shown = await opened(thread, 2);
    for (let kill = 1; kill <= 25; kill += 1) {
      await abortAllDurableObjects();
      if (kill === 8) install("killed", [wire(executed)], "Help more.");
      if (kill === 16) {
        const note = defineTool({
          name: "note",
          description: "Notes.",
          version: "1",
          input: z.object({}),
          effect: "read",
          execute: () => "noted",
        });
        install("killed", [note, wire(executed)], "Help even more.");
      }
      expect(await list(thread)).toEqual(shown);
    }
    expect(executed).toEqual([]);
    const [first, second] = shown;
    expect((await decide(thread, second?.approvalId ?? "", { decision: "approve" })).status).toBe(
      200,
    );
    await api.until(async () => ((await thread.of("tool.finished")).length === 1 ? true : null));
    await abortAllDurableObjects();
    expect((await decide(thread, first?.approvalId ?? "", { decision: "approve" })).status).toBe(
      200,
    );
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "both" });
    expect(executed.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual(
      shown.map(({ args }) => args),
    );
    expect(await thread.of("approval.requested")).toHaveLength(2);
    expect(await thread.of("tool.started")).toHaveLength(2);
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });

  it("[A2] a deploy that changes the tool leaves the approved call unrun", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([ask(["wire", { amount: 40 }]), say("not sent")]);
    const thread = start("redeployed", [wire(executed)], model);
    const runId = await thread.send("wire it");
    const [approval] = await opened(thread);
    install("redeployed", [wire(executed, { version: "2" })]);
    await abortAllDurableObjects();
    expect((await decide(thread, approval?.approvalId ?? "", { decision: "approve" })).status).toBe(
      200,
    );
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "not sent" });
    expect(executed).toEqual([]);
    const [refused] = await thread.of("tool.refused");
    expect(refused?.payload["refusal"]).toMatchObject({ code: "tool_unavailable" });
  });

  it("[A7] it expires by alarm, with nobody asking, and the run goes on", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([ask(["wire", { amount: 40 }]), say("too late")]);
    const thread = start("expiring", [wire(executed, { approvalTimeoutMs: 3_000 })], model);
    await thread.send("wire it");
    await opened(thread);
    const asked = model.requests.length;
    // Only the model is looked at: a request would wake the thread by itself.
    await api.until(async () => (model.requests.length > asked ? true : null));
    expect(executed).toEqual([]);
    expect(lastResults(model.requests[1])).toMatchObject([
      { name: "wire", isError: true, output: expect.stringContaining("approval_expired") },
    ]);
    const [approval] = await list(thread);
    expect(approval).toMatchObject({ status: "decided", decision: "expired", decidedBy: null });
    const late = await decide(thread, approval?.approvalId ?? "", { decision: "approve" });
    expect(late).toMatchObject({ status: 409, body: { code: "approval_expired" } });
  });

  it("[A7] keeps one alarm, at its expiry, and no heartbeat", async () => {
    const thread = start(
      "asleep",
      [wire([])],
      new StrictModel([ask(["wire", { amount: 1 }]), say("x")]),
    );
    await thread.send("wire it");
    const [approval] = await opened(thread);
    const name = `v1/waits/asleep/t1`;
    const { AGENT } = env as unknown as { readonly AGENT: DurableObjectNamespace };
    const stub = AGENT.get(AGENT.idFromName(name));
    await api.until(async () => {
      const alarm = await runInDurableObject(stub, (_object, state) => state.storage.getAlarm());
      return alarm !== null && Math.abs(alarm - (approval?.expiresAt ?? 0)) < 5_000 ? true : null;
    });
  });

  it("[A6] a cancel closes it, and a later decision is told so", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([ask(["wire", { amount: 40 }]), say("x")]);
    const thread = start("cancelled", [wire(executed)], model);
    const runId = await thread.send("wire it");
    const [approval] = await opened(thread);
    const cancel = await api.json("POST", `${thread.path}/runs/${runId}/cancel`);
    expect(cancel.status).toBe(200);
    expect(await thread.ended(runId)).toMatchObject({ status: "cancelled" });
    const late = await decide(thread, approval?.approvalId ?? "", { decision: "approve" });
    expect(late).toMatchObject({ status: 409, body: { code: "approval_cancelled" } });
    expect(executed).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });
});

describe("a decision", () => {
  it("[A3] [K2] with the same key again is the same decision, with another body a conflict", async () => {
    const executed: Json[] = [];
    const model = new StrictModel([ask(["wire", { amount: 40 }]), say("sent")]);
    const thread = start("keyed", [wire(executed)], model);
    const runId = await thread.send("wire it");
    const id = (await opened(thread))[0]?.approvalId ?? "";
    const first = await decide(thread, id, { decision: "approve" }, { key: "k1" });
    const again = await decide(thread, id, { decision: "approve" }, { key: "k1" });
    expect(first).toMatchObject({ status: 200, body: { decision: "approved" } });
    expect(again).toMatchObject({ status: 200, body: first.body });
    const other = await decide(thread, id, { decision: "deny" }, { key: "k1" });
    expect(other).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
    await thread.ended(runId);
    expect(executed).toHaveLength(1);
    expect(await thread.of("approval.refused")).toEqual([]);
  });

  it("[A8] [Z5] of a foreign tenant, and of an approval that is not there, is one and the same 404", async () => {
    const stranger = await Api.service("strangers");
    const thread = start("foreign", [wire([])], new StrictModel([ask(["wire", { amount: 1 }])]));
    await thread.send("wire it");
    const id = (await opened(thread))[0]?.approvalId ?? "";
    const read = `${thread.path}/approvals/${id}`;
    const answers = await Promise.all([
      decide(thread, id, { decision: "approve" }, { by: stranger }),
      decide(thread, "evt_missing", { decision: "approve" }),
      stranger.json<{ readonly code: string }>("GET", read),
      stranger.json<{ readonly code: string }>("GET", `${thread.path}/approvals`),
      api.json<{ readonly code: string }>("GET", `${thread.path}/approvals/evt_missing`),
    ]);
    for (const { status, body } of answers) expect([status, body.code]).toEqual([404, "not_found"]);
    expect((await opened(thread))[0]?.status).toBe("open");
  });

  it("[A8] of another key of the tenant needs the scope", async () => {
    const thread = start(
      "scoped",
      [wire([])],
      new StrictModel([ask(["wire", { amount: 1 }]), say("x")]),
    );
    await thread.send("wire it");
    const id = (await opened(thread))[0]?.approvalId ?? "";
    const reader = await Api.service("waits", ["threads:read", "threads:write"]);
    const refused = await decide(thread, id, { decision: "approve" }, { by: reader });
    expect(refused).toMatchObject({ status: 403, body: { code: "forbidden" } });
    const decider = await Api.service("waits", ["threads:read", "approvals:decide"]);
    const decided = await decide(thread, id, { decision: "deny" }, { by: decider });
    expect(decided).toMatchObject({ status: 200, body: { decision: "denied" } });
  });
});

describe("the inbox", () => {
  interface Inbox {
    readonly items: readonly {
      readonly approval: string;
      readonly path: string;
      readonly decision: string | null;
    }[];
    readonly next: string | null;
  }
  it("[A9] [P7] lists what waits in all threads, page by page, and lets go of what is decided", async () => {
    const own = await Api.service("inbox");
    const model = new StrictModel(() => ask(["wire", { amount: 1 }]));
    install("inbox", [wire([])]);
    lab.models.set("test/inbox", model);
    const threads = ["a", "b", "c"].map((id) => new ThreadClient(own, "inbox", id));
    for (const thread of threads) await thread.send("wire it");
    const all = await own.until(async () => {
      const { body } = await own.json<Inbox>("GET", "/v1/approvals");
      return body.items.length === 3 ? body.items : null;
    });
    const first = await own.json<Inbox>("GET", "/v1/approvals?limit=2");
    const rest = await own.json<Inbox>("GET", `/v1/approvals?limit=2&after=${first.body.next}`);
    expect([...first.body.items, ...rest.body.items]).toEqual(all);
    expect(rest.body.next).toBeNull();
    expect(JSON.stringify(all)).not.toContain("amount");

    const detail = await own.json<ApprovalView>("GET", all[0]?.path ?? "");
    expect(detail).toMatchObject({ status: 200, body: { args: { amount: 1 }, status: "open" } });
    const denied = await own.json("POST", `${all[0]?.path}/decision`, { decision: "deny" });
    expect(denied.status).toBe(200);
    await own.until(async () => {
      const { body } = await own.json<Inbox>("GET", "/v1/approvals?state=all");
      const known = body.items.find(({ approval }) => approval === all[0]?.approval);
      return known?.decision === "denied" ? true : null;
    });
    const others = await Api.service("elsewhere");
    expect((await others.json<Inbox>("GET", "/v1/approvals?state=all")).body.items).toEqual([]);
  });
});
