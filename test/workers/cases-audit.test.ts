/** Handed case H10 and the audit through the public API: tampering with exports and with live objects; a run explained. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { parseKeySet } from "#audit/key-set.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { ExplanationView, VerificationView } from "#ports/audit-views.ts";
import type { ApprovalView, Page, RunView } from "#ports/thread-gateway.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, ScriptModel } from "../support/scripted-model.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel } from "../support/strict-model.ts";
import { isEvent, toRecords, toText } from "../support/tampering.ts";
import { ThreadClient } from "../support/thread-client.ts";
import { TAMPER } from "../support/cases-h10.ts";

const TENANT = "audited";
const EVENTS = 100;
/** As a client writes them: a number with a fraction, an exponent, a lone surrogate, a key that is a trap. */
const PAYLOADS = [
  '{"b":1,"a":2}',
  '{"x":1.0}',
  '{"x":1e+21}',
  '{"s":"é vs e\\u0301"}',
  '{"s":"\\ud800"}',
  '{"__proto__":1}',
];

let api: Api;
beforeAll(async () => {
  api = await Api.service(TENANT);
});
afterEach(() => lab.models.clear());

async function put(thread: ThreadClient, body: string, key?: string): Promise<number> {
  const headers = { "content-type": "application/json" };
  const response = await api.fetch("PUT", `${thread.path}/state`, {
    body,
    headers: key === undefined ? headers : { ...headers, "idempotency-key": key },
  });
  await response.arrayBuffer();
  return response.status;
}

async function create(thread: ThreadClient): Promise<void> {
  const { status } = await thread.api.json("POST", "/v1/agents/clerk/threads", {
    id: thread.path.split("/").at(-1) ?? "",
  });
  expect(status).toBe(201);
}

/** A thread of exactly a hundred events, of which the last is signed. */
async function hundred(id: string): Promise<ThreadClient> {
  const thread = new ThreadClient(api, "clerk", id);
  await create(thread);
  for (let count = 1; count < EVENTS; count += 1)
    expect(await put(thread, PAYLOADS[count % PAYLOADS.length] ?? "")).toBe(200);
  await anchored(thread, EVENTS);
  return thread;
}
const verify = async (thread: ThreadClient): Promise<VerificationView> =>
  (await api.json<VerificationView>("GET", `${thread.path}/verify`)).body;
async function anchored(thread: ThreadClient, seq: number): Promise<VerificationView> {
  return api.until(async () => {
    const view = await verify(thread);
    return (view.anchors.newest?.seq ?? 0) >= seq ? view : null;
  });
}

/** By the keys that the service publishes, as somebody without a credential reads them. */
async function verdict(text: string): Promise<string> {
  const set = await api.json<Json>("GET", "/.well-known/jwks.json");
  const hasher = new NodeHasher();
  const keys = parseKeySet(set.body, hasher);
  if (keys === null || keys.length === 0) throw new Error("no keys are published");
  const trust = { hasher, check: new WebCryptoCheck(), keys };
  const result = await verifyAuditExport(new Blob([text]).stream(), trust);
  return result.ok
    ? `ok erased=${result.value.erased}`
    : `${result.error.reason} at ${result.error.seq}`;
}

describe("H10: an audit that verifies although something is gone", () => {
  it("H10 [H5] [H6] [H8] each tampering with the export of 100 events is found at its place; an erasure passes", async () => {
    const thread = await hundred("h10");
    const text = await thread.export();
    expect(await verdict(text)).toBe("ok erased=0");
    const events = toRecords(text).filter(isEvent);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
    for (const [name, change, expected] of TAMPER) {
      const isErasure = expected.startsWith("ok");
      if (isErasure)
        expect(await api.json("POST", `${thread.path}/events/60/erase`)).toMatchObject({
          status: 200,
        });
      const tampered = isErasure ? await thread.export() : toText(change(toRecords(text)));
      expect(await verdict(tampered), name).toBe(expected);
    }
  });

  it("H10 [L7] what clients send is stored as one well-formed text each, whatever it was", async () => {
    const thread = await hundred("h10-payloads");
    const stored = toRecords(await thread.export())
      .filter(isEvent)
      .slice(1, 1 + PAYLOADS.length)
      .map(({ payload }) => Buffer.from(payload ?? "", "base64").toString("utf8"));
    expect(stored).toEqual([
      '{"state":{"x":1}}',
      '{"state":{"x":1e+21}}',
      '{"state":{"s":"é vs e\u0301"}}',
      '{"state":{"s":"\uFFFD"}}',
      '{"state":{"__proto__":1}}',
      '{"state":{"b":1,"a":2}}',
    ]);
  });

  it("H10 [L2] killed between: what was acknowledged is there once, and the chain has no gap", async () => {
    const thread = new ThreadClient(api, "clerk", "h10-kill");
    await create(thread);
    const acknowledged = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const sent = Array.from({ length: 8 }, async (_, index) => {
        const number = round * 8 + index;
        const status = await put(thread, `{"n":${number}}`, `key-${number}`).catch(() => 0);
        if (status === 200) acknowledged.add(number);
      });
      await abortAllDurableObjects();
      await Promise.all(sent);
    }
    for (let number = 0; number < 40; number += 1)
      expect(await put(thread, `{"n":${number}}`, `key-${number}`)).toBe(200);
    const text = await thread.export();
    expect(await verdict(text)).toBe("ok erased=0");
    const states = await thread.of("state.set");
    const numbers = states.map(({ payload }) => (payload["state"] as JsonObject)["n"]);
    expect(numbers.toSorted((left, right) => Number(left) - Number(right))).toEqual(
      Array.from({ length: 40 }, (_, number) => number),
    );
  });
});

describe("a live log", () => {
  it("[H10] verifies against its chain and the signed heads of both stores", async () => {
    const thread = await hundred("live");
    const view = await verify(thread);
    expect(view).toMatchObject({ ok: true, events: 100, erased: 0, fault: null, next: null });
    expect(view.anchors).toMatchObject({
      verified: 1,
      inOneStore: 0,
      newest: { seq: 100 },
      signing: true,
    });
  });

  it("[H10] a cut tail shows, also where D1 was cut with it", async () => {
    const thread = await hundred("cut");
    const stored = new StoredThread(TENANT, "clerk", "cut");
    await stored.within(
      (state) => void state.storage.sql.exec("DELETE FROM events WHERE seq > 98"),
    );
    await abortAllDurableObjects();
    expect(await verify(thread)).toMatchObject({
      ok: false,
      fault: { seq: 99, reason: "head_mismatch" },
    });
    const { DB } = env as unknown as { readonly DB: D1Database };
    await DB.prepare("DELETE FROM anchors WHERE thread = 'cut'").run();
    expect(await verify(thread)).toMatchObject({
      ok: false,
      fault: { seq: 99, reason: "head_mismatch" },
    });
  });

  it("[H10] an object that was lost and made anew shows", async () => {
    const thread = await hundred("lost");
    const stored = new StoredThread(TENANT, "clerk", "lost");
    await stored.within(
      (state) =>
        void state.storage.sql.exec("DELETE FROM events; DELETE FROM meta WHERE key = 'log_id'"),
    );
    await abortAllDurableObjects();
    await create(thread);
    expect(await verify(thread)).toMatchObject({
      ok: false,
      fault: { seq: 1, reason: "log_missing" },
    });
    expect(await verdict(await thread.export())).toBe("log_missing at 1");
  });

  it("[H11] is the owner's to verify and export of the tenant nobody's who is a user", async () => {
    const mine = await api.user("u1");
    const thread = new ThreadClient(mine, "clerk", "mine");
    await create(thread);
    expect(await mine.json("GET", `${thread.path}/verify`)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    const other = await api.user("u2");
    expect(await other.json("GET", `${thread.path}/verify`)).toMatchObject({ status: 404 });
    const plain = await Api.service(TENANT, ["threads:read"]);
    expect(await plain.json("GET", `${thread.path}/verify`)).toMatchObject({ status: 403 });
    expect((await other.fetch("GET", "/v1/audit/export")).status).toBe(403);
    const all = await api.fetch("GET", "/v1/audit/export");
    // The lost log of this tenant is missing in its file too.
    expect(await verdict(await all.text())).toBe("log_missing at 1");
  });

  it("[H4] no answer holds the private key, and the published one is named by its thumbprint", async () => {
    const { status, headers, body } = await api.json<{ keys: JsonObject[] }>(
      "GET",
      "/.well-known/jwks.json",
    );
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=300"]);
    expect(body.keys.map(({ kid }) => kid)).toEqual([
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    ]);
    expect(JSON.stringify(body)).not.toMatch(/"d":|nWGxne/);
  });
});

describe("a long run", () => {
  it("[H3] is signed at every hundredth event while it goes on", async () => {
    const route = "test/long";
    const look = defineTool({
      name: "look",
      description: "looks",
      version: "1",
      input: z.object({ n: z.number() }),
      effect: "read",
      execute: ({ n }) => `seen ${n}`,
    });
    const steps = Array.from({ length: 40 }, (_, n) => ask(["look", { n }]));
    const held = new ScriptModel([...steps, [{ text: "wait" }, { hold: true }, ...say("done")]]);
    lab.models.set(route, held);
    deploy(
      defineAgent({
        name: "long",
        description: "long",
        instructions: "Look.",
        model: route,
        tools: [look],
      }),
    );
    const thread = new ThreadClient(api, "long", "t1");
    const run = await thread.send("look often");
    await api.until(async () => (held.waiting === 1 ? true : null));
    const view = await anchored(thread, 100);
    expect(view).toMatchObject({ ok: true });
    const { body } = await api.json<RunView>("GET", `${thread.path}/runs/${run}`);
    expect(body.status).toBe("running");
    held.release();
    await thread.ended(run);
  });
});

describe("a run explained", () => {
  it("[H20] [H21] three steps with an approval: all of it, each with its evidence", async () => {
    const route = "test/explained";
    const tool = (name: string, approval: "never" | "always") =>
      defineTool({
        name,
        description: name,
        version: "1",
        input: z.object({ amount: z.number() }),
        effect: "idempotent",
        approval,
        execute: ({ amount }) => `${name} ${amount}`,
      });
    const limits = { maxCostMicros: null };
    const tools = [tool("look", "never"), tool("wire", "always")];
    deploy(
      defineAgent({
        name: "explained",
        description: "x",
        instructions: "Be careful.",
        model: route,
        tools,
        limits,
      }),
    );
    const model = new StrictModel([
      ask(["look", { amount: 1 }]),
      ask(["wire", { amount: 40 }]),
      say("sent"),
    ]);
    lab.models.set(route, model);
    const thread = new ThreadClient(api, "explained", "t1");
    const runId = await thread.send("wire 40");
    const approval = await api.until(async () => {
      const page = await api.json<Page<ApprovalView>>("GET", `${thread.path}/approvals?state=open`);
      return page.body.items[0] ?? null;
    });
    const decision = { decision: "approve", comment: "fine" };
    await api.json("POST", `${thread.path}/approvals/${approval.approvalId}/decision`, decision);
    await thread.ended(runId);

    const { status, body } = await api.json<ExplanationView>(
      "GET",
      `${thread.path}/runs/${runId}/explain`,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      runId,
      inputs: [{ type: "input.received", payload: { text: "wire 40" } }],
      pin: { manifest: { name: "explained", instructions: "Be careful." } },
      end: { type: "run.completed", payload: { text: "sent" } },
      erased: 0,
      next: null,
    });
    expect(body.steps.map(({ step }) => step)).toEqual([1, 2, 3]);
    const attempts = body.steps.flatMap((step) => step.attempts);
    expect(attempts.map(({ prompt }) => prompt?.request.messages)).toEqual(
      model.requests.map(({ messages }) => JSON.parse(JSON.stringify(messages)) as unknown),
    );
    expect(
      attempts.every(({ prompt }) => prompt?.intact === true && prompt.digest === prompt.recorded),
    ).toBe(true);
    expect(body.steps[1]?.calls).toMatchObject([
      {
        name: "wire",
        approvals: [
          {
            approvalId: approval.approvalId,
            shown: { amount: 40 },
            decision: "approved",
            comment: "fine",
          },
        ],
        attempts: [
          {
            args: { amount: 40 },
            effect: "idempotent",
            verdicts: { approval: approval.approvalId },
            outcome: { status: "finished", result: { output: "wire 40" } },
          },
        ],
      },
    ]);
    expect(body.steps[1]?.calls[0]?.approvals[0]?.decidedBy).toBe(
      (await api.json<{ owner: string }>("GET", thread.path)).body.owner,
    );
    expect(attempts[0]).toMatchObject({
      route,
      verdicts: { policy: "allow" },
      outcome: { status: "answered", cost: { micros: 0 } },
    });
    const hashes = new Map((await thread.events()).map(({ header, hash }) => [header.seq, hash]));
    const places = body.steps.flatMap(({ attempts: tries, calls }) => [
      ...tries.flatMap((each) => [each, each.outcome]),
      ...calls.flatMap((call) => [
        ...call.attempts.flatMap((each) => [each, each.outcome]),
        ...call.approvals.flatMap((each) => [each.requested, each.decided]),
      ]),
    ]);
    expect(places.length).toBe(12);
    for (const place of places) expect(place?.hash).toBe(hashes.get(place?.seq ?? 0));
  });
});
