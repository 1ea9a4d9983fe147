/**
 * Stops the erasure of a subject at every place where something was written, in the subject's object, in its threads or in
 * the stores outside, and opens everything again: it finishes, once, with each thing counted once (H35).
 */
import { beforeAll, expect, it } from "vitest";
import { verifyChain } from "#audit/hash-chain.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { D1Directory } from "#adapters/directory/d1-directory.ts";
import { requestErasure, viewErasure } from "#durable-objects/agent/erasure/erasure-commands.ts";
import { openLog, openStorage } from "#durable-objects/object-storage.ts";
import { SCOPE_CATALOGUE, type ScopeEvents } from "#memory/scope-events.ts";
import { SubjectErasure } from "#memory/subject-erasure.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { Caller, EraseContent, ThreadGateway, ThreadStub } from "#ports/thread-gateway.ts";
import { trusted } from "#shared/ids.ts";
import { AGENT, chainFault, fill, openTenant, take } from "#test/support/filled-thread.ts";
import { mortalD1 } from "#test/support/mortal-d1.ts";
import { Mortal } from "#test/support/mortal.ts";
import { OWNER, TENANT, type NodeTenant } from "#test/support/node-tenant.ts";

const CANARY = "canary-1a2b3c";
const OTHERS = "canary-9z8y7x";
const OTHER: Caller = { ...OWNER, id: "usr_2" };
const MINE = ["t1", "t2"];

let filled: NodeTenant;
beforeAll(async () => {
  filled = openTenant();
  for (const thread of MINE) await fill(filled, thread, { owner: OWNER, canary: CANARY });
  await fill(filled, "t3", { owner: OTHER, canary: OTHERS });
  // Registered, and its process died before the thread was created.
  await filled.register(filled.address(AGENT, "t4"), { owner: OWNER.id, title: CANARY });
});

/** Threads as the object of a subject reaches them: what fails there is told by no more than a wait. */
function gateway(tenant: NodeTenant, life: Mortal): ThreadGateway {
  return {
    thread: (address) => {
      const eraseContent = async (caller: Caller, request: EraseContent) => {
        const host = tenant.open(address, life);
        const asked = host.guard(caller, () => requestErasure(host, caller, request));
        if (!asked.ok || asked.value.status === "done") return asked;
        await host.continueErasure().catch(() => true);
        return host.guard(caller, () => viewErasure(host, caller, request.runId));
      };
      const stub: Pick<ThreadStub, "eraseContent"> = { eraseContent };
      return stub as ThreadStub;
    },
  };
}

interface Subject {
  readonly erasure: SubjectErasure;
  readonly log: EventLog<ScopeEvents>;
}

function open(tenant: NodeTenant, life: Mortal = new Mortal()): Subject {
  const files = tenant.object("subject").open(life, "subject");
  const log = openLog<ScopeEvents>(openStorage(files, OBJECT_MIGRATIONS), {
    catalogue: SCOPE_CATALOGUE,
    defaults: { tenant: TENANT },
    projections: [],
  });
  const erasure = new SubjectErasure({
    tenant: trusted(TENANT),
    subject: trusted(OWNER.id),
    log,
    directory: new D1Directory(mortalD1(tenant.d1.d1, life)),
    threads: gateway(tenant, life),
    erasers: tenant.erasers(life),
    clock: tenant.clock,
  });
  return { erasure, log };
}

interface Played extends Subject {
  readonly tenant: NodeTenant;
  readonly life: Mortal;
}

async function play(target: number): Promise<Played> {
  const tenant = filled.copy();
  const life = new Mortal(target);
  try {
    const subject = open(tenant, life);
    take(subject.erasure.request(OWNER, "refuse"));
    while (await subject.erasure.run());
    return { ...subject, tenant, life };
  } catch (error) {
    if (life.diedAt === null) throw error;
  }
  const subject = open(tenant);
  // Only who died before the request was in the log was never asked.
  if (subject.log.head().seq === 0) take(subject.erasure.request(OWNER, "refuse"));
  while (await subject.erasure.run());
  return { ...subject, tenant, life };
}

function outcomeOf({ tenant, log, erasure }: Played): unknown {
  const threads = MINE.map((thread) => {
    const host = tenant.open(tenant.address(AGENT, thread));
    expect(chainFault(host)).toBeNull();
    const events = host.log.read({ limit: 1_000 });
    return events.map(({ type, payload }) => [type, payload === null]);
  });
  const where = (words: string) => tenant.placesOf(words).filter((at) => !at.endsWith("snapshots"));
  const left = { mine: where(CANARY), others: where(OTHERS) };
  const ends = log.read({ limit: 100 }).filter(({ type }) => type === "erasure.completed").length;
  const receipt = { ...take(erasure.view(OWNER)), erasureId: null };
  return { receipt, threads, left, ends, archived: tenant.archived.size };
}

/** What a thread does within itself is another suite's: here its calls of others count, once each. */
function targetsOf(places: readonly string[]): readonly number[] {
  return places.flatMap((place, index) => {
    const isOwn = place.startsWith("subject");
    const isOutside = !place.startsWith("object") && places.indexOf(place) === index;
    return isOwn || isOutside ? [index + 1] : [];
  });
}

it("[H35] stopped at every place where something was written, finishes as if nothing had happened", async () => {
  const baseline = await play(0);
  const expected = outcomeOf(baseline);
  expect(expected).toMatchObject({ ends: 1, left: { mine: [] } });
  const { places } = baseline.life;
  for (const target of targetsOf(places)) {
    const played = await play(target);
    const where = `place ${target}: ${played.life.diedAt}`;
    expect(played.life.diedAt, where).toBe(places[target - 1]);
    expect(outcomeOf(played), where).toEqual(expected);
    const { log } = played;
    const head = log.head();
    expect(verifyChain(log.raw({ limit: 100 }), new NodeHasher(), { head }).ok, where).toBe(true);
  }
}, 60_000);
