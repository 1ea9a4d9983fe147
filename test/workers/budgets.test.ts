import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { ExplanationView } from "#ports/audit-views.ts";
import type { BudgetView, LeaseView } from "#ports/budget-ledger.ts";
import type { ApprovalView, EventView, Page } from "#ports/thread-gateway.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { Api } from "../support/api.ts";
import { exportFault } from "../support/export-fault.ts";
import { deploy, lab } from "../support/lab.ts";
import { ScriptModel, type ScriptPart } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

/** 500 micro-dollars an output token: a call of 1,000 output tokens is $0.50 at most. */
const PRICE = { version: "lab-2", inputMicrosPerMillion: 0, outputMicrosPerMillion: 500_000_000 };
const DOLLAR = 1_000_000;
/** A build whose storage this one cannot come to: its threads can be read and not written. */
const BROKEN = { id: "9999_broken", sql: "SELECT no_such_function();" };
const SCOPES = ["threads:read", "threads:write", "operate", "audit"];

const spend = (micros: number): readonly ScriptPart[] => [
  { text: "done" },
  { finish: "stop", usage: { input: 10, output: micros / 500 } },
];

function start(name: string, model: ScriptModel): void {
  const route = `lab/${name}`;
  lab.models.set(route, model);
  lab.prices.set(route, PRICE);
  const limits = { maxCostMicros: null };
  const settings = { maxOutputTokens: 1_000 };
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "Go.",
      model: route,
      tools: [],
      limits,
      settings,
    }),
  );
}

async function budgetOf(api: Api): Promise<BudgetView> {
  const { body } = await api.json<{ items: readonly BudgetView[] }>("GET", "/v1/budgets");
  const [budget] = body.items;
  if (budget === undefined) throw new Error("there is no budget");
  return budget;
}

const put = (api: Api, limit: number, more = {}) =>
  api.json("PUT", "/v1/budgets/money", {
    scope: { kind: "tenant" },
    period: "total",
    unit: "costMicros",
    limit,
    ...more,
  });

async function costOf(threads: readonly ThreadClient[]): Promise<number> {
  const events = await Promise.all(threads.map((thread) => thread.events()));
  return events.flat().reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);
}

/** The outbox of every thread has told the ledger, and nothing is leased any more. */
const atRest = (api: Api) =>
  api.until(async () => {
    const { body } = await api.json<{ items: readonly LeaseView[] }>("GET", "/v1/ledger/leases");
    return body.items.length === 0 ? budgetOf(api) : null;
  });

beforeAll(() => {
  lab.leases = true;
});
afterEach(() => {
  lab.leases = true;
  lab.build = {};
});

describe("budgets over REST", () => {
  it("[B40] are set, listed and deleted with the scope operate, and by nobody else", async () => {
    const api = await Api.service("budget-rest", SCOPES);
    const weak = await Api.service("budget-rest", ["threads:read", "threads:write"]);
    expect((await put(weak, 5)).status).toBe(403);
    expect((await weak.json("GET", "/v1/budgets")).status).toBe(403);
    expect(await put(api, 5 * DOLLAR, { warnAtPercent: [90, 50, 90] })).toMatchObject({
      status: 200,
      body: {
        budgetId: "money",
        limit: 5 * DOLLAR,
        spent: 0,
        left: 5 * DOLLAR,
        status: "ok",
        warnAtPercent: [50, 90],
      },
    });
    expect(await put(api, -1)).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    const other = await Api.service("budget-other", SCOPES);
    expect((await other.json("GET", "/v1/budgets")).body).toEqual({ items: [] });
    expect((await api.json("DELETE", "/v1/budgets/money")).status).toBe(204);
    expect((await api.json("DELETE", "/v1/budgets/money")).status).toBe(404);
    expect((await api.json("GET", "/v1/budgets")).body).toEqual({ items: [] });
  });
});

describe("a budget at its limit", () => {
  it("[B56] `cheaper` is refused for an agent that names no fallbacks", async () => {
    const api = await Api.service("budget-cheaper", SCOPES);
    start("budget-plain", new ScriptModel([]));
    const scope = { kind: "agent", agent: "budget-plain" };
    expect(await put(api, 5, { atLimit: "cheaper", scope })).toMatchObject({
      status: 400,
      body: { code: "invalid_request", context: { issues: [{ path: "/atLimit" }] } },
    });
    expect((await api.json("GET", "/v1/budgets")).body).toEqual({ items: [] });
  });

  it("[B55] waits for who may operate, over kills; a yes grants what was shown, and is explained", async () => {
    const api = await Api.service("budget-ask", SCOPES);
    const owner = await Api.service("budget-ask", ["threads:read", "threads:write"]);
    const model = new ScriptModel([spend(5_000)], { by: "call" });
    start("budget-ask", model);
    await put(api, 400_000, { atLimit: "ask" });
    const thread = new ThreadClient(owner, "budget-ask", "t1");
    const runId = await thread.send("go");
    const open = (): Promise<ApprovalView | null> =>
      owner
        .json<Page<ApprovalView>>("GET", `${thread.path}/approvals?state=open`)
        .then(({ body }) => body.items[0] ?? null);
    const asked = await owner.until(open);
    for (let kill = 0; kill < 5; kill += 1) {
      await abortAllDurableObjects();
      expect(await open()).toEqual(asked);
    }
    expect(asked).toMatchObject({
      kind: "budget",
      tool: "money",
      callId: "",
      budget: { stop: { budgetId: "money", limit: 400_000, needed: 500_000 }, amount: 100_000 },
    });
    const decision = `${thread.path}/approvals/${asked.approvalId}/decision`;
    const yes = { decision: "approve" };
    expect(await owner.json("POST", decision, yes)).toMatchObject({ status: 403 });
    expect(model.requests).toHaveLength(0);
    const inbox = await owner.until(async () => {
      const { body } = await owner.json<Page<{ readonly kind: string }>>("GET", "/v1/approvals");
      return body.items.length === 0 ? null : body.items;
    });
    expect(inbox).toMatchObject([{ kind: "budget", tool: "money", call: "" }]);
    expect(await api.json("POST", decision, yes)).toMatchObject({ status: 200 });
    expect(await thread.ended(runId)).toMatchObject({ status: "completed" });
    expect(await atRest(api)).toMatchObject({ raised: 100_000, spent: 5_000, left: 495_000 });
    const { body } = await owner.json<ExplanationView>(
      "GET",
      `${thread.path}/runs/${runId}/explain`,
    );
    expect(body.steps[0]?.approvals).toMatchObject([
      { kind: "budget", decision: "approved", shown: { amount: 100_000 } },
    ]);
    const { body: me } = await api.json<{ readonly id: string }>("GET", "/v1/me");
    expect(body.steps[0]?.approvals[0]?.decidedBy).toBe(me.id);
    expect(body.steps[0]?.calls).toEqual([]);
    expect(await thread.as(api).chainFault()).toBeNull();
  });
});

describe("a lease", () => {
  it("[B58] is written off only where its holder does not answer, and that is part of the tenant's export", async () => {
    const api = await Api.service("write-off", SCOPES);
    const weak = await Api.service("write-off", ["threads:read", "threads:write", "audit"]);
    const model = new ScriptModel([[{ text: "slow" }, { hang: true }]], { by: "call" });
    start("write-off", model);
    await put(api, DOLLAR);
    const thread = new ThreadClient(api, "write-off", "t1");
    await thread.send("go");
    await api.until(async () => (model.waiting === 1 ? true : null));
    const leases = async (): Promise<readonly LeaseView[]> =>
      (await api.json<{ items: readonly LeaseView[] }>("GET", "/v1/ledger/leases")).body.items;
    const [lease] = await leases();
    const path = `/v1/ledger/leases/${lease?.leaseId}/write-off`;
    const body = { as: "spent", reason: "its object is lost" };
    expect(await weak.json("POST", path, body)).toMatchObject({ status: 403 });
    expect(await api.json("POST", path, { as: "spent" })).toMatchObject({ status: 400 });
    expect(await api.json("POST", path, body)).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    expect(await leases()).toHaveLength(1);
    // A build that may not write the thread's log can say nothing for good: the holder does not answer.
    lab.build = { migrations: [...OBJECT_MIGRATIONS, BROKEN] };
    await abortAllDurableObjects();
    expect(await api.json("POST", path, body)).toMatchObject({
      status: 200,
      body: { ...body, blocked: { costMicros: 500_000 }, settled: { costMicros: 500_000 } },
    });
    expect(await budgetOf(api)).toMatchObject({ spent: 500_000, leased: 0, left: 500_000 });
    expect(await api.json("POST", path, body)).toMatchObject({ status: 404 });
    lab.build = {};
    // The budget that was set is signed in time; the ledger's log is in the file, as nobody's thread.
    const exported = await api.until(async () => {
      const text = await (await api.fetch("GET", "/v1/audit/export")).text();
      return text.includes('"anchor":{"agent":null') ? text : null;
    });
    expect(await exportFault(exported)).toBeNull();
    const { body: page } = await api.json<Page<EventView>>("GET", "/v1/ledger/events?limit=200");
    expect(page.items.at(-1)?.payload).toMatchObject({ how: "written_off", writeOff: body });
  });
});

describe("D05: children of one budget that start in the same millisecond", () => {
  async function prepared(tenant: string, child: ScriptModel) {
    const api = await Api.service(tenant, SCOPES);
    start(
      `${tenant}-spender`,
      new ScriptModel(
        Array.from({ length: 20 }, () => spend(495_000)),
        { by: "call" },
      ),
    );
    start(`${tenant}-child`, child);
    await put(api, 10 * DOLLAR);
    // $9.90 spent through the same door, as twenty calls of $0.495.
    const spender = new ThreadClient(api, `${tenant}-spender`, "root");
    for (let call = 0; call < 20; call += 1) {
      const run = await spender.ask("spend");
      expect(run).toMatchObject({ status: "completed" });
    }
    expect(await atRest(api)).toMatchObject({ spent: 9_900_000, left: 100_000 });
    const children = Array.from(
      { length: 5 },
      (_, index) => new ThreadClient(api, `${tenant}-child`, `c${index}`),
    );
    return { api, spender, children };
  }

  it("[D05] children: none can reserve its worst case, none makes a request, and the sum of leaves is the root", async () => {
    const model = new ScriptModel([spend(5_000)], { by: "call" });
    const { api, spender, children } = await prepared("d05a", model);
    const runs = await Promise.all(children.map((child) => child.ask("go")));
    expect(model.requests).toHaveLength(0);
    for (const run of runs) {
      expect(run).toMatchObject({
        status: "failed",
        reason: "budget_exceeded",
        budget: {
          budgetId: "money",
          limit: 10 * DOLLAR,
          spent: 9_900_000,
          needed: 500_000,
          resetsAt: null,
        },
      });
    }
    const budget = await atRest(api);
    expect(budget.spent).toBeLessThanOrEqual(10 * DOLLAR);
    expect(await costOf([spender, ...children])).toBe(budget.spent);
  });

  it("[D05] a parent that keeps spending sees what a running child has leased", async () => {
    const model = new ScriptModel(
      [[{ text: "slow" }, { hold: true }, { finish: "stop", usage: { input: 1, output: 200 } }]],
      { by: "call" },
    );
    const api = await Api.service("d05b", SCOPES);
    start("d05b-child", model);
    const own = new ScriptModel([spend(5_000)], { by: "call" });
    start("d05b-parent", own);
    await put(api, 600_000);
    const child = new ThreadClient(api, "d05b-child", "c");
    const parent = new ThreadClient(api, "d05b-parent", "p");
    const running = await child.send("go");
    await api.until(async () => (model.waiting === 1 ? true : null));
    expect(await budgetOf(api)).toMatchObject({ spent: 0, leased: 500_000, left: 100_000 });
    expect(await parent.ask("spend")).toMatchObject({
      status: "failed",
      reason: "budget_exceeded",
    });
    expect(own.requests).toHaveLength(0);
    model.release();
    expect(await child.ended(running)).toMatchObject({ status: "completed" });
    expect(await atRest(api)).toMatchObject({ spent: 100_000, leased: 0, left: 500_000 });
    expect(await parent.ask("spend")).toMatchObject({ status: "completed" });
    const budget = await atRest(api);
    expect(budget.spent).toBe(105_000);
    expect(await costOf([child, parent])).toBe(budget.spent);
  });

  it("[D05] a child that crashes after its reservation is settled with it, once", async () => {
    const model = new ScriptModel([[{ text: "cut" }, { hang: true }], spend(5_000)], {
      by: "call",
    });
    const api = await Api.service("d05c", SCOPES);
    start("d05c-child", model);
    await put(api, 10 * DOLLAR);
    const child = new ThreadClient(api, "d05c-child", "c");
    const runId = await child.send("go");
    await api.until(async () => (model.waiting === 1 ? true : null));
    await abortAllDurableObjects();
    expect(await child.ended(runId)).toMatchObject({ status: "completed" });
    const budget = await atRest(api);
    // What was reserved when it died counts as spent, and the answer that came in the end.
    expect(budget).toMatchObject({ spent: 505_000, leased: 0 });
    expect(await costOf([child])).toBe(budget.spent);
  });
});
