/** Erasure of threads and runs through the API: what it reaches, what it leaves, and that it ends by itself (H30 to H35). */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { D1InboxEraser, D1TitleEraser } from "#adapters/erasure/d1-erasers.ts";
import type { ErasureView, RunView } from "#ports/thread-gateway.ts";
import type { Model } from "#ports/model.ts";
import { env } from "cloudflare:test";
import type { Env } from "#src/env.ts";
import { Api } from "../support/api.ts";
import { FlakyEraser } from "../support/flaky-eraser.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say } from "../support/scripted-model.ts";
import { placesOf } from "../support/stored-content.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const TENANT = "erasing";
const CANARY = "canary-4f1c9b";
const LARGE = `${CANARY} ${"large ".repeat(60_000)}`;

let service: Api;
let vectors: FlakyEraser;
beforeAll(async () => {
  lab.heartbeatMs = 200;
  service = await Api.service(TENANT);
});
beforeEach(() => {
  const { DB } = env as unknown as Env;
  vectors = new FlakyEraser("vectors");
  lab.build = { erasers: [new D1TitleEraser(DB), new D1InboxEraser(DB), vectors] };
});
afterEach(() => {
  lab.models.clear();
  lab.build = {};
});

const look = defineTool({
  name: "look",
  description: "Looks.",
  version: "1",
  input: z.object({ what: z.string() }),
  effect: "read",
  limits: { maxResultBytes: 1_000_000 },
  execute: () => LARGE,
});
const keep = defineTool({
  name: "keep",
  description: "Keeps a file.",
  version: "1",
  input: z.object({}),
  effect: "idempotent",
  execute: (_, { files }) => {
    files.write(`${CANARY}.txt`, new TextEncoder().encode(LARGE));
    return `kept ${CANARY}`;
  },
});
const send = defineTool({
  name: "send",
  description: "Sends, when a person agrees.",
  version: "1",
  input: z.object({ text: z.string() }),
  effect: "once",
  approval: "always",
  execute: () => `sent ${CANARY}`,
});

function start(name: string, model: Model, api: Api = service) {
  const route = `test/${name}`;
  const tools = [look, keep, send];
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "Help.",
      model: route,
      tools,
      limits: { maxCostMicros: null },
    }),
  );
  lab.models.set(route, model);
  const thread = new ThreadClient(api, name, "t1");
  return { thread, stored: new StoredThread(TENANT, name, "t1") };
}

const scope = (agent: string, runId: string | null = null) =>
  ({ tenant: TENANT, agent, thread: "t1", runId }) as never;
const erase = (thread: ThreadClient, path = "", body?: { live: string }) =>
  thread.api.json<ErasureView>("POST", `${thread.path}${path}/erase`, body);
const done = (thread: ThreadClient, path = "") =>
  thread.api.until(async () => {
    const { body } = await thread.api.json<ErasureView>("GET", `${thread.path}${path}/erasure`);
    return body.status === "done" ? body : null;
  });
const countOf = ({ stores }: ErasureView, store: string): number | undefined =>
  stores.find((each) => each.store === store)?.count;

/** A thread with the canary in every place that may hold content. */
async function fill({ thread }: { readonly thread: ThreadClient }): Promise<readonly RunView[]> {
  const { api, path } = thread;
  await api.json("POST", path.replace(/\/t1$/, ""), { id: "t1", title: `title ${CANARY}` });
  await api.json("PUT", `${path}/state`, { note: CANARY });
  await thread.writeFile(`upload-${CANARY}.txt`, LARGE);
  const first = await api.send(path, `first ${CANARY}`, { messageId: "m1" });
  const waiting = await api.until(async () => {
    const { body } = await api.json<{ items: readonly { approvalId: string }[] }>(
      "GET",
      `${path}/approvals?state=open`,
    );
    return body.items?.[0] ?? null;
  });
  await api.json("POST", `${path}/approvals/${waiting.approvalId}/decision`, {
    decision: "approve",
    comment: `comment ${CANARY}`,
  });
  const ended = await thread.ended(first);
  return [ended, await thread.ask(`second ${CANARY}`)];
}

/** Tools in the first run, words in those after it. */
const talkative = (): StrictModel =>
  new StrictModel((request) => {
    const text = JSON.stringify(request.messages.filter(({ role }) => role === "user"));
    const steps = request.messages.filter(({ role }) => role === "assistant").length;
    if (!text.includes("first") || text.includes("second")) return say(`answer ${CANARY}`);
    if (steps === 0) return ask(["look", { what: CANARY }], ["keep"]);
    return steps === 1 ? ask(["send", { text: CANARY }]) : say(`done ${CANARY}`);
  });

describe("erasing a thread", () => {
  it("[H30][H32][H33] reaches every place, and leaves chain, counts, costs and the rest of the thread", async () => {
    const model = talkative();
    const { thread, stored } = start("whole", model);
    const runs = await fill({ thread });
    expect(runs.map(({ status }) => status)).toEqual(["completed", "completed"]);
    await service.until(async () => ((await stored.alarm()) === null ? true : null));
    const before = await placesOf(CANARY, stored);
    expect(before).toEqual(
      expect.arrayContaining(["blob_chunks", "events", "files", "D1 threads", "R2"]),
    );
    const types = (await thread.events()).map(({ header }) => header.type);

    const erased = await erase(thread);
    expect(erased.status, JSON.stringify(erased.body)).toBe(200);
    expect(erased.body).toMatchObject({ target: "thread", status: "done" });
    expect(await placesOf(CANARY, stored)).toEqual([]);
    for (const store of ["log_payloads", "payload_chunks", "file_content", "commands"])
      expect(countOf(erased.body, store), store).toBeGreaterThan(0);
    expect(countOf(erased.body, "directory_titles")).toBe(1);
    expect(countOf(erased.body, "inbox_rows")).toBe(1);
    expect(countOf(erased.body, "archive_copies")).toBeGreaterThan(1);
    expect(JSON.stringify(await thread.events())).not.toContain(CANARY);
    expect(await thread.export()).not.toContain(
      Buffer.from(CANARY).toString("base64").slice(0, 12),
    );
    expect(JSON.stringify(await thread.messages())).not.toContain(CANARY);
    expect((await service.json("GET", `${thread.path}/files`)).body).toEqual({ items: [] });
    expect(await thread.chainFault()).toBeNull();
    const after = await thread.events();
    expect(after.map(({ header }) => header.type)).toEqual([
      ...types,
      "erasure.requested",
      "erasure.completed",
    ]);
    for (const { runId, costMicros, tokens, steps, status, finish } of runs) {
      const { body } = await service.json<RunView>("GET", `${thread.path}/runs/${runId}`);
      expect(body).toMatchObject({ costMicros, tokens, steps, status, finish, text: null });
    }
    const view = await service.json("GET", thread.path);
    expect(view.body).toMatchObject({ title: null, state: null, plan: [] });
    await abortAllDurableObjects();
    expect((await service.json("GET", thread.path)).body).toEqual(view.body);

    const again = await erase(thread);
    expect(again).toMatchObject({ status: 200, body: erased.body });
    expect(await thread.events()).toEqual(after);
    const asked = model.requests.length;
    expect(await thread.ask("hello again")).toMatchObject({ status: "completed" });
    expect(JSON.stringify(model.requests[asked]).split(CANARY)).toHaveLength(1);
    const third = await erase(thread);
    expect(third.body.erasureId).not.toBe(erased.body.erasureId);
    expect(await placesOf(CANARY, stored)).toEqual([]);
    expect(model.rejections).toEqual([]);
  });

  it("[H31] a live run is refused, or cancelled first when asked for", async () => {
    const { thread } = start("live", new StrictModel(() => [{ text: CANARY }, { hang: true }]));
    const runId = await thread.send("hi");
    const refused = await erase(thread);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: "run_active", context: { runId } },
    });
    const ran = await erase(thread, `/runs/${runId}`);
    expect(ran).toMatchObject({ status: 409, body: { code: "run_active" } });
    const cancelled = await erase(thread, "", { live: "cancel" });
    expect(cancelled).toMatchObject({ status: 200, body: { status: "done" } });
    expect(await thread.ended(runId)).toMatchObject({ status: "cancelled", message: null });
  });

  it("[H31] needs the scope erase, and a foreign thread is a missing one", async () => {
    const { thread } = start("scopes", new StrictModel([say("hello")]));
    await thread.ask("hi");
    const reader = await Api.service(TENANT, ["threads:read", "threads:write"]);
    expect((await erase(thread.as(reader))).status).toBe(403);
    const foreign = await Api.service("other", ["erase"]);
    expect((await erase(thread.as(foreign))).status).toBe(404);
    expect((await service.json("GET", `${thread.path}/erasure`)).status).toBe(404);
  });
});

describe("a store that is away", () => {
  it("[H31] leaves the erasure open, the alarm comes back until it is done, and nothing is reported early", async () => {
    const { thread } = start("away", talkative());
    await thread.ask("hi");
    vectors.put(scope("away"));
    vectors.put(scope("away"));
    vectors.failures = 3;
    const first = await erase(thread);
    expect(first).toMatchObject({ status: 202, body: { status: "erasing", completedAt: null } });
    const sent = await service.json("POST", `${thread.path}/messages`, { text: "more" });
    expect(sent).toMatchObject({ status: 409, body: { code: "erasure_active", retryable: true } });
    const { body: events } = await service.json("GET", `${thread.path}/events?limit=200`);
    expect(JSON.stringify(events)).not.toContain("erasure.completed");
    const receipt = await done(thread);
    expect(vectors.attempts).toBeGreaterThanOrEqual(4);
    expect(countOf(receipt, "vectors")).toBe(2);
    expect(await thread.ask("more")).toMatchObject({ status: "completed" });
  });

  it("[H31] goes on at the next start where its alarm is lost", async () => {
    const { thread, stored } = start("forgotten", talkative());
    await thread.ask("hi");
    vectors.failures = 1;
    expect(await erase(thread)).toMatchObject({ status: 202 });
    await stored.within(async ({ storage }) => {
      storage.sql.exec("DELETE FROM cf_agents_jobs");
      await storage.deleteAlarm();
    });
    await abortAllDurableObjects();
    expect(countOf(await done(thread), "log_payloads")).toBeGreaterThan(0);
  });

  it("[H34] no content goes before the archive, which the outbox must tell, has been told", async () => {
    let isAway = true;
    const archive = {
      put: () => (isAway ? Promise.reject(new Error("the archive is away")) : Promise.resolve()),
      delete: () => Promise.resolve(),
    };
    lab.build = { ...lab.build, archive };
    const { thread, stored } = start("told", talkative());
    await thread.writeFile("large.txt", LARGE);
    expect(await erase(thread)).toMatchObject({ status: 202, body: { status: "erasing" } });
    expect(await placesOf(CANARY, stored)).toContain("blob_chunks");
    isAway = false;
    expect(countOf(await done(thread), "file_content")).toBe(1);
    expect(await placesOf(CANARY, stored)).toEqual([]);
  });

  it("[H31] a kill in the middle changes no count", async () => {
    const { thread, stored } = start("killed", talkative());
    await fill({ thread });
    vectors.put(scope("killed"));
    vectors.hangs = true;
    const asked = erase(thread).catch(() => null);
    await service.until(async () => (vectors.attempts > 0 ? true : null));
    await abortAllDurableObjects();
    await asked;
    vectors.hangs = false;
    const receipt = await done(thread);
    expect(countOf(receipt, "vectors")).toBe(1);
    expect(countOf(receipt, "directory_titles")).toBe(1);
    expect(countOf(receipt, "inbox_rows")).toBe(1);
    expect(await placesOf(CANARY, stored)).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
    const completed = await thread.of("erasure.completed");
    expect(completed).toHaveLength(1);
  });
});

describe("erasing a run", () => {
  it("[H30] takes that run and nothing of the others", async () => {
    const model = talkative();
    const { thread, stored } = start("run", model);
    const [first, second] = await fill({ thread });
    const before = await thread.events();
    const ofFirst = (event: { readonly header: { readonly run: string | null } }): boolean =>
      event.header.run === first?.runId;
    const erased = await erase(thread, `/runs/${first?.runId}`);
    expect(erased).toMatchObject({ status: 200, body: { target: "run", status: "done" } });
    const after = await thread.events();
    expect(JSON.stringify(after.filter(ofFirst))).not.toContain(CANARY);
    const others = (events: typeof after) => events.filter((event) => !ofFirst(event));
    expect(others(after)).toEqual(others(before));
    const { body: kept } = await service.json<RunView>(
      "GET",
      `${thread.path}/runs/${second?.runId}`,
    );
    expect(kept).toMatchObject({ text: `answer ${CANARY}` });
    expect(await thread.text(`upload-${CANARY}.txt`)).toBe(LARGE);
    expect(await thread.file(`${CANARY}.txt`)).toBeNull();
    expect(await thread.chainFault()).toBeNull();
    expect(await erase(thread, `/runs/${first?.runId}`)).toMatchObject({
      status: 200,
      body: erased.body,
    });
    const asked = model.requests.length;
    expect(await thread.ask("third")).toMatchObject({ status: "completed" });
    const next = JSON.stringify(model.requests[asked]);
    expect(next).toContain(`second ${CANARY}`);
    expect(next).not.toContain(`first ${CANARY}`);
    expect(next).not.toContain("large large");
    expect(await placesOf(`done ${CANARY}`, stored)).toEqual([]);
    expect(model.rejections).toEqual([]);
  });
});
