/**
 * Stops an erasure at every place where something was written, in the object or outside it, opens everything again, and
 * lets the alarm's own call go on: it finishes, once, with the receipt of one that nothing stopped (H31 to H35).
 */
import { archiveConsumer } from "#durable-objects/agent/outbox.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { requestErasure, viewErasure } from "#durable-objects/agent/erasure/erasure-commands.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { EraseContent, ErasureView } from "#ports/thread-gateway.ts";
import {
  AGENT,
  chainFault,
  fill,
  Lingering,
  openTenant,
  sendText,
  take,
} from "#test/support/filled-thread.ts";
import { Mortal, targetsOf } from "#test/support/mortal.ts";
import { OWNER, type NodeTenant } from "#test/support/node-tenant.ts";

const CANARY = "canary-1a2b3c";
const OTHERS = "canary-9z8y7x";

/** What only a count before the erasure can tell. */
const COUNTS = {
  thread: [
    { store: "directory_titles", count: 1 },
    { store: "inbox_rows", count: 1 },
    { store: "vectors", count: 2 },
    { store: "archive_copies", count: 3 },
    { store: "log_payloads", count: 20 },
  ],
  run: [
    { store: "inbox_rows", count: 1 },
    { store: "vectors", count: 1 },
    { store: "archive_copies", count: 2 },
    { store: "log_payloads", count: 14 },
  ],
} as const;

interface Played {
  readonly tenant: NodeTenant;
  readonly host: ThreadHost;
  readonly life: Mortal;
  readonly view: ErasureView;
}

let filled: NodeTenant;
let first: string;
beforeAll(async () => {
  filled = openTenant();
  [first] = await fill(filled, "t1", { owner: OWNER, canary: CANARY });
  await fill(filled, "t2", { owner: OWNER, canary: OTHERS });
});

/** What the object does when somebody asks for an erasure. */
async function ask(host: ThreadHost, request: EraseContent): Promise<ErasureView> {
  const asked = take(requestErasure(host, OWNER, request));
  if (asked.status === "erasing") while (await host.continueErasure());
  return take(viewErasure(host, OWNER, request.runId));
}

async function play(request: EraseContent, target: number): Promise<Played> {
  const tenant = filled.copy();
  const address = tenant.address(AGENT, "t1");
  const life = new Mortal(target);
  try {
    const host = tenant.open(address, life);
    return { tenant, host, life, view: await ask(host, request) };
  } catch (error) {
    if (life.diedAt === null) throw error;
  }
  const host = tenant.open(address);
  // Nobody asks: the alarm goes on. Only who died before the request was in the log was never asked.
  while (await host.continueErasure());
  const found = viewErasure(host, OWNER, request.runId);
  return { tenant, host, life, view: found.ok ? found.value : await ask(host, request) };
}

/** What the erasure came to, without what is another in each play. */
function outcomeOf({ tenant, host, view }: Played): unknown {
  const receipt = { ...view, erasureId: null };
  const events = host.log.read({ limit: 1_000 });
  const types = events.map(({ type, payload }) => [type, payload === null]);
  const meta = host.storage.database.exec("SELECT key FROM meta ORDER BY key");
  // A snapshot may be there or not: it is made of the log again.
  const where = (words: string) => tenant.placesOf(words).filter((at) => !at.endsWith("snapshots"));
  const left = { mine: where(CANARY), others: where(OTHERS) };
  const vectors = [...tenant.vectors.held].map(([thread, { length }]) => [thread, length]);
  return { receipt, types, meta, left, vectors, archived: tenant.archived.size };
}

describe.each(["thread", "run"] as const)("the erasure of a %s", (of) => {
  it("[H31][H33] stopped at every place where something was written, finishes as if nothing had happened", async () => {
    const request = { runId: of === "run" ? first : null, live: "refuse", origin: null } as const;
    const baseline = await play(request, 0);
    expect(baseline.view.stores).toEqual(expect.arrayContaining([...COUNTS[of]]));
    expect(baseline.tenant.placesOf(CANARY).length > 0).toBe(of === "run");
    const { places } = baseline.life;
    // Storage is wiped alike for both.
    const isNew = (target: number) => of === "thread" || !places[target - 1]?.includes("wiping");
    for (const target of targetsOf(places).filter(isNew)) {
      const played = await play(request, target);
      const where = `place ${target}: ${played.life.diedAt}`;
      expect(played.life.diedAt, where).toBe(places[target - 1]);
      expect(outcomeOf(played), where).toEqual(outcomeOf(baseline));
      expect(chainFault(played.host), where).toBeNull();
    }
  }, 60_000);
});

it("[H30][H31] takes what a call tells while storage is wiped, of a run that was cancelled for it, and its copy outside", async () => {
  const lingering = new Lingering();
  const tenant = openTenant(lingering);
  await fill(tenant, "t1", { owner: OWNER, canary: CANARY });
  const host = tenant.open(tenant.address(AGENT, "t1"));
  sendText(host, OWNER, `slow ${CANARY}`);
  const driving = host.runtime.drive();
  await expect.poll(() => host.runtime.state.run?.phase.type).toBe("tools");
  const late = () => host.log.read({ limit: 100 }).filter(({ type }) => type === "tool.late");
  const files = tenant.object(`${AGENT}/t1`);
  files.syncing = async () => {
    files.syncing = () => Promise.resolve();
    lingering.release();
    await driving;
    await expect.poll(late).toHaveLength(1);
  };
  const erased = await ask(host, { runId: null, live: "cancel", origin: null });
  expect(erased).toMatchObject({ status: "done" });
  expect(late()).toMatchObject([{ payload: null }]);
  expect(tenant.placesOf(CANARY)).toEqual([]);
  expect(erased.stores).toContainEqual({ store: "archive_copies", count: 4 });
  expect(chainFault(host)).toBeNull();
});

it("[H34] a copy that was under way when its original was erased is taken back, also by the next process", async () => {
  const archived = new Set<string>();
  const held = new Map([["blob:1", new Uint8Array(3)]]);
  const life = new Mortal(1);
  const consumer = archiveConsumer({
    tenant: "acme",
    logId: "log_1",
    blobs: { get: (address) => held.get(address) ?? null, has: (address) => held.has(address) },
    archive: {
      put: async (key) => {
        archived.add(key);
        held.clear();
        if (life.diedAt === null) life.pass("put");
      },
      delete: async (keys) => keys.forEach((key) => archived.delete(key)),
    },
  });
  const event = { type: "state.set", header: { payload: { ref: "blob:1" } }, payload: null };
  const deliver = () => consumer.deliver([event as never]);
  await expect(deliver()).rejects.toThrow("died");
  expect(archived.size).toBe(1);
  await deliver();
  expect(archived.size).toBe(0);
});
