/** The contract of EventLog, continued: a log that lost its beginning lawfully (L14). */
import { expect } from "vitest";
import { verifyChain } from "#audit/hash-chain.ts";
import type { Fold, OutboxConsumer, StoredEvent } from "#ports/event-log.ts";
import { codeOf, fill, note, type Check, type TestEvents } from "./event-log-harness.ts";

interface Count {
  readonly events: number;
}
const COUNT: Fold<TestEvents, Count> = {
  id: "count",
  version: 1,
  initial: () => ({ events: 0 }),
  evolve: (state) => ({ events: state.events + 1 }),
  dump: (state) => ({ ...state }),
  restore: (dumped) => dumped as unknown as Count,
};
const LARGE = "x".repeat(300_000);

function counting(over: Partial<Fold<TestEvents, Count>> = {}) {
  const probe = {
    evolved: 0,
    fold: {
      ...COUNT,
      ...over,
      evolve: (state: Count, event: StoredEvent<TestEvents>) => {
        probe.evolved += 1;
        return COUNT.evolve(state, event);
      },
    },
  };
  return probe;
}

export function eventLogPruning(check: Check): void {
  check("[L14] rows up to a place go, and the chain verifies from its base", (harness) => {
    const log = harness.open();
    fill(log, 250);
    const [at] = log.raw({ from: 200, to: 200 });
    const head = log.head();
    expect(log.base()).toEqual({ seq: 0, hash: "0".repeat(64) });
    const base = { seq: 200, hash: at?.hash };
    expect(log.prune(200, COUNT)).toEqual({ pruned: 200, base });
    for (const each of [log, harness.open()]) {
      expect(each.base()).toEqual(base);
      expect(each.head()).toEqual(head);
      expect(each.get(200)).toBeNull();
      expect(each.read().map((event) => event.header.seq)[0]).toBe(201);
      expect(each.read({ limit: 1, reverse: true })[0]?.header.seq).toBe(250);
      expect(verifyChain(each.raw(), harness.hasher, { base: each.base(), head }).ok).toBe(true);
    }
    expect(log.prune(200, COUNT)).toEqual({ pruned: 0, base });
    expect(log.prune(3, COUNT)).toEqual({ pruned: 0, base });
  });

  check("[L14] folding and appending go on, and opening reads what is left", (harness) => {
    const log = harness.open();
    fill(log, 250);
    log.saveSnapshot(COUNT, { events: 120 }, 120);
    log.prune(240, COUNT);
    const probe = counting();
    expect(harness.open().fold(probe.fold)).toEqual({ state: { events: 250 }, seq: 250 });
    expect(probe.evolved).toBe(10);
    const again = harness.open();
    again.append([note("more")], { at: 1, expectedSeq: 250 });
    expect(again.head().seq).toBe(251);
    again.prune(250, COUNT);
    expect(harness.open().fold(COUNT)).toEqual({ state: { events: 251 }, seq: 251 });
  });

  check("[L14] the state at the base outlives newer snapshots and erasures", (harness) => {
    const log = harness.open();
    fill(log, 50);
    log.prune(10, COUNT);
    for (const seq of [20, 30, 40, 50]) log.saveSnapshot(COUNT, { events: seq }, seq);
    log.erase([45]);
    const probe = counting();
    expect(harness.open().fold(probe.fold).state).toEqual({ events: 50 });
    expect(probe.evolved).toBe(40);
  });

  check(
    "[L14] a raised fold takes the state at the base where it says it can, or the log closes",
    (harness) => {
      const log = harness.open();
      fill(log, 20);
      log.prune(10, COUNT);
      const raised = counting({ version: 3, restorable: 1 });
      expect(harness.open().fold(raised.fold).state).toEqual({ events: 20 });
      expect(raised.evolved).toBe(10);
      const lost = harness.open();
      expect(codeOf(() => lost.fold(counting({ version: 3 }).fold))).toBe("log_corrupt");
      expect(lost.mode).toMatchObject({ writable: false, reason: "log_corrupt" });
      expect(lost.read()).toHaveLength(10);
    },
  );

  check("[L14] large payloads of pruned events go with them", (harness) => {
    const log = harness.open();
    log.append([note(LARGE), note(`${LARGE}2`), note("small")], { at: 1 });
    const refs = log.read().map((event) => event.header.payload.ref);
    log.prune(1, COUNT);
    expect(refs.map((ref) => ref !== null && harness.blobs.has(ref))).toEqual([false, true, false]);
  });

  check(
    "[L14] neither the head nor a required cursor is passed, and nothing is half done",
    async (harness) => {
      const log = harness.open();
      fill(log, 6);
      const target: OutboxConsumer<TestEvents> = {
        name: "needed",
        required: true,
        deliver: () => Promise.resolve(),
      };
      await log.drain([target], 4);
      const before = harness.dump();
      for (const upTo of [5, 6, 7]) expect(codeOf(() => log.prune(upTo, COUNT))).toBe("conflict");
      const fail = (): never => {
        throw new Error("no");
      };
      expect(() => log.prune(4, COUNT, fail)).toThrow("no");
      expect(harness.dump()).toBe(before);
      expect(log.prune(4, COUNT).pruned).toBe(4);
      await log.drain([target]);
      expect(codeOf(() => log.prune(6, COUNT))).toBe("conflict");
    },
  );

  check("[L14] a projection keeps what came from pruned events when it is rebuilt", (harness) => {
    const log = harness.open({ projections: [harness.tally(1)] });
    fill(log, 9);
    log.prune(4, COUNT);
    const raised = harness.tally(2);
    harness.open({ projections: [raised] });
    expect([raised.resets, raised.base]).toEqual([1, 4]);
  });
}
