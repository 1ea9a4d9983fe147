/** Handed case C06: erasure that removes too little or too much, and the erasure of a subject across threads (H35). */
import { abortAllDurableObjects, env } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { D1InboxEraser, D1TitleEraser } from "#adapters/erasure/d1-erasers.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import type { SubjectErasureView } from "#ports/subject-gateway.ts";
import type { ErasureView } from "#ports/thread-gateway.ts";
import type { Env } from "#src/env.ts";
import { C06 } from "../fixtures/cases.ts";
import { Api } from "../support/api.ts";
import { FlakyEraser } from "../support/flaky-eraser.ts";
import { deploy, lab } from "../support/lab.ts";
import { say } from "../support/scripted-model.ts";
import { placesOf } from "../support/stored-content.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const TENANT = "c06";
const [U1, U2] = C06.users;
const canaryOf = (user: string): string => `canary-of-${user}`;

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

function start(name: string): StrictModel {
  const model = new StrictModel((request) =>
    say(`heard ${JSON.stringify(request.messages.at(-1)?.content).slice(0, 80)}`),
  );
  const route = `test/${name}`;
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "Help.",
      model: route,
      tools: [],
      limits: { maxCostMicros: null },
    }),
  );
  lab.models.set(route, model);
  return model;
}

interface Held {
  readonly client: ThreadClient;
  readonly stored: StoredThread;
  readonly runs: readonly string[];
}

/** Messages, answers, a file, a state and a vector, all with the user's canary. */
async function store(user: string, agent: string, thread: string): Promise<Held> {
  const client = new ThreadClient(await service.user(user), agent, thread);
  const runs: string[] = [];
  for (const turn of [1, 2]) {
    const { runId, ...run } = await client.ask(`${canaryOf(user)} turn ${turn}`);
    expect(run).toMatchObject({ status: "completed", reason: null });
    runs.push(runId);
    vectors.put({ tenant: TENANT, agent, thread, runId } as never);
  }
  await client.writeFile("notes.txt", canaryOf(user));
  await client.api.json("PUT", `${client.path}/state`, { fact: canaryOf(user) });
  return { client, stored: new StoredThread(TENANT, agent, thread), runs };
}

const eraseSubject = (user: string) =>
  service.json<SubjectErasureView>("POST", `/v1/subjects/${user}/erase`);
const subjectDone = (user: string) =>
  service.until(async () => {
    const { body } = await service.json<SubjectErasureView>("GET", `/v1/subjects/${user}/erasure`);
    return body.status === "done" ? body : null;
  });

describe("C06: erasure takes what it should and nothing else", () => {
  it("C06 [H35] a subject's threads are erased, another's are untouched, and a store that fails is retried", async () => {
    const model = start("c06");
    const ofU1 = [await store(U1, "c06", "a1"), await store(U1, "c06", "a2")];
    const ofU2 = await store(U2, "c06", "b1");
    const before = await ofU2.client.events();
    vectors.failures = C06.failingStoreDeletes;
    const first = await eraseSubject(U1);
    expect(first).toMatchObject({ status: 202, body: { status: "erasing", completedAt: null } });
    const receipt = await subjectDone(U1);
    expect(receipt.threads).toEqual({ done: 2, waiting: 0 });
    expect(receipt.stores).toEqual(
      expect.arrayContaining([
        { store: "vectors", count: 4 },
        { store: "files", count: 2 },
        { store: "file_content", count: 2 },
      ]),
    );
    for (const { client, stored } of ofU1) {
      expect(await placesOf(canaryOf(U1), stored)).toEqual([]);
      expect(JSON.stringify(await client.events())).not.toContain(canaryOf(U1));
      const exported = await new ThreadClient(
        service,
        "c06",
        client.path.split("/")[5] ?? "",
      ).export();
      expect(exported).not.toContain(btoa(canaryOf(U1)).slice(0, 12));
      const asked = model.requests.length;
      expect(await client.ask("what do you know of me?")).toMatchObject({
        status: "completed",
        reason: null,
      });
      expect(JSON.stringify(model.requests[asked])).not.toContain(canaryOf(U1));
      expect(await client.as(service).chainFault()).toBeNull();
    }
    expect(await ofU2.client.events()).toEqual(before);
    expect(vectors.held.get(`${TENANT}/c06/b1`)).toEqual(ofU2.runs);

    // What was said since is new content; erased too, a further request finds nothing and changes nothing.
    await eraseSubject(U1);
    const settled = await subjectDone(U1);
    const again = await eraseSubject(U1);
    expect(again).toMatchObject({ status: 200, body: settled });

    const [first2, second2] = ofU2.runs;
    const path = `${ofU2.client.path}/runs/${second2}/erase`;
    const scoped = await service.json<ErasureView>("POST", path);
    expect(scoped).toMatchObject({ status: 200, body: { target: "run", status: "done" } });
    const kept = JSON.stringify(await ofU2.client.messages());
    expect(kept).toContain(`${canaryOf(U2)} turn 1`);
    expect(kept).not.toContain("turn 2");
    expect(vectors.held.get(`${TENANT}/c06/b1`)).toEqual([first2]);
    expect(await ofU2.client.text("notes.txt")).toBe(canaryOf(U2));
    expect(await ofU2.client.as(service).chainFault()).toBeNull();
  });

  it("[H35] a kill in the middle goes on by itself, and no thread is counted twice", async () => {
    start("resumed");
    const held = await Promise.all(["r1", "r2", "r3"].map((id) => store("u7", "resumed", id)));
    vectors.hangs = true;
    const asked = eraseSubject("u7").catch(() => null);
    await service.until(async () => (vectors.attempts > 0 ? true : null));
    await abortAllDurableObjects();
    await asked;
    vectors.hangs = false;
    const receipt = await subjectDone("u7");
    expect(receipt.threads).toEqual({ done: 3, waiting: 0 });
    expect(receipt.stores).toContainEqual({ store: "vectors", count: 6 });
    for (const { stored } of held) expect(await placesOf(canaryOf("u7"), stored)).toEqual([]);
  });

  it("[H35] a user erases only what is their own, with the scope", async () => {
    start("own");
    await store("u8", "own", "o1");
    const minted = await service.json<{ token: string }>("POST", "/v1/tokens", { user: "u8" });
    const user = await service.user("u8");
    expect(minted.status).toBeLessThan(300);
    expect((await user.json("POST", "/v1/subjects/u8/erase")).status).toBe(403);
    expect((await user.json("POST", "/v1/subjects/u9/erase")).status).toBe(403);
    const reader = await Api.service(TENANT, ["threads:read"]);
    expect((await reader.json("POST", "/v1/subjects/u8/erase")).status).toBe(403);
    expect((await service.json("GET", "/v1/subjects/u8/erasure")).status).toBe(404);
  });
});
