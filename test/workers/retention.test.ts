/** Retention through the API: history goes up to a signed head, what is used stays, and a reader is told (H40 to H43). */
import { abortAllDurableObjects, env } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { R2AnchorCopies } from "#adapters/anchors/r2-anchor-copies.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import type { EventView, MessageView, Page, ThreadView } from "#ports/thread-gateway.ts";
import type { Env } from "#src/env.ts";
import { parseSigning } from "#src/signing-env.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { say } from "../support/scripted-model.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const TENANT = "keeping";
const MAX_EVENTS = 40;
const TURNS = 24;

let service: Api;
beforeAll(async () => {
  lab.heartbeatMs = 200;
  service = await Api.service(TENANT);
  const { DB, BLOBS } = env as unknown as Env;
  const pair = (await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const jwk = await crypto.subtle.exportKey("jwk", pair.privateKey);
  lab.build = {
    audit: {
      ...parseSigning({ HOLDFAST_SIGNING_KEY: JSON.stringify(jwk) }),
      check: new WebCryptoCheck(),
      anchors: new D1AnchorStore(DB),
      copies: new R2AnchorCopies(BLOBS),
    },
  };
});
afterEach(() => lab.models.clear());

describe("a thread beyond its retention", () => {
  it("[H40][H41][H42][H43] loses its beginning and nothing that it uses", async () => {
    const model = new StrictModel((request) => say(`heard ${request.messages.length}`));
    lab.models.set("test/kept", model);
    deploy(
      defineAgent({
        name: "kept",
        description: "kept",
        instructions: "Help.",
        model: "test/kept",
        tools: [],
        contextTokens: 160,
        settings: { maxOutputTokens: 10 },
        limits: { maxCostMicros: null },
        retention: { maxEvents: MAX_EVENTS },
      }),
    );
    const thread = new ThreadClient(service, "kept", "t1");
    const stored = new StoredThread(TENANT, "kept", "t1");
    await thread.writeFile("early.txt", "early and still here");
    const first = await thread.ask("the first question");
    for (let turn = 1; turn < TURNS; turn += 1) await thread.ask(`question ${turn}`);
    const view = await service.until(async () => {
      const { body } = await service.json<ThreadView>("GET", thread.path);
      return body.base.seq > 0 ? body : null;
    });
    await service.until(async () => ((await stored.alarm()) === null ? true : null));
    const { base, head } = (await service.json<ThreadView>("GET", thread.path)).body;
    expect(base.seq).toBeGreaterThanOrEqual(view.base.seq);
    expect(head.seq - base.seq).toBeLessThan(head.seq);
    expect((await stored.rows())["events"]).toBe(head.seq - base.seq);

    const gone = await service.json("GET", `${thread.path}/events`);
    expect(gone).toMatchObject({
      status: 410,
      body: { code: "history_pruned", context: { base: base.seq } },
    });
    const kept = await service.json<Page<EventView>>(
      "GET",
      `${thread.path}/events?after=${base.seq}&limit=5`,
    );
    expect(kept.body.items[0]?.header).toMatchObject({ seq: base.seq + 1, prev: base.hash });
    const streamed = await service.fetch("GET", `${thread.path}/events?from=1.0.0`, {
      headers: { accept: "text/event-stream" },
    });
    expect(streamed.status).toBe(410);
    const explained = await service.json("GET", `${thread.path}/runs/${first.runId}/explain`);
    expect(explained).toMatchObject({ status: 410, body: { code: "history_pruned" } });

    const { items } = (
      await service.json<Page<MessageView>>("GET", `${thread.path}/messages?limit=200`)
    ).body;
    expect(items.length).toBeGreaterThan(0);
    expect(items.every(({ seq }) => seq > base.seq)).toBe(true);
    expect(await thread.text("early.txt")).toBe("early and still here");
    const run = await service.json("GET", `${thread.path}/runs/${first.runId}`);
    expect(run.body).toMatchObject({ status: "completed", steps: 1, text: null });

    await abortAllDurableObjects();
    const reopened = (await service.json<ThreadView>("GET", thread.path)).body;
    expect(reopened).toMatchObject({ writable: true, base, head });
    expect(await thread.ask("once more")).toMatchObject({ status: "completed" });
    expect(model.rejections).toEqual([]);
    const verified = await service.json("GET", `${thread.path}/verify`);
    expect(verified.body, JSON.stringify(verified.body)).toMatchObject({ ok: true, base });
  });
});
