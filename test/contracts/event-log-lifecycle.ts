/** The contract of EventLog, continued: rules L6, L9 and L12, and how damage shows. */
import { expect } from "vitest";
import { verifyChain } from "#audit/hash-chain.ts";
import type { Catalogue, Fold, StoredEvent } from "#ports/event-log.ts";
import type { Json } from "#shared/json.ts";
import { CATALOGUE, codeOf, fill, note, type Check, type TestEvents } from "./event-log-harness.ts";
import { eventLogOutbox } from "./event-log-outbox.ts";

export function eventLogLifecycle(check: Check): void {
  versions(check);
  snapshots(check);
  eventLogOutbox(check);
  projections(check);
  damage(check);
}

function versions(check: Check): void {
  const newer: Catalogue<TestEvents> = {
    ...CATALOGUE,
    versions: { "note.added": 2, "note.counted": 1 },
  };
  const older = {
    name: "test",
    versions: { "note.added": 1 },
    upcast: CATALOGUE.upcast,
  } as unknown as Catalogue<TestEvents>;

  const unknown: readonly (readonly [string, Catalogue<TestEvents>, Catalogue<TestEvents>])[] = [
    ["type", CATALOGUE, older],
    ["version", newer, CATALOGUE],
  ];
  for (const [what, writer, reader] of unknown) {
    check(
      `[L6] an unknown ${what} opens the log read-only at once, readable with its raw payload`,
      (harness) => {
        const log = harness.open({ catalogue: writer });
        log.append([note("first"), { type: "note.counted", payload: { count: 1 } }], { at: 1 });
        fill(log, 20);
        const before = harness.dump();
        const old = harness.open({ catalogue: reader });
        expect(old.mode).toMatchObject({ writable: false, reason: "log_newer_than_code" });
        expect(old.read({ limit: 2 }).map((event) => event.payload)).toEqual([
          { text: "first" },
          { count: 1 },
        ]);
        expect(codeOf(() => old.append([note("no")], { at: 1 }))).toBe("log_newer_than_code");
        expect(codeOf(() => old.erase([1]))).toBe("log_newer_than_code");
        // The rest of the log is folded without what this build does not know.
        expect(old.fold(COUNT)).toEqual({ state: { events: what === "type" ? 21 : 1 }, seq: 22 });
        expect(verifyChain(old.raw(), harness.hasher, { head: old.head() }).ok).toBe(true);
        expect(harness.dump()).toBe(before);
        expect(harness.open({ catalogue: writer }).mode).toEqual({ writable: true });
      },
    );
  }

  check(
    "[L6] a writer that opened before a newer one used an unknown type closes at its first append",
    (harness) => {
      const writer = harness.open();
      fill(writer, 1);
      const old = harness.open({ catalogue: older });
      expect(old.mode).toEqual({ writable: true });
      writer.append([{ type: "note.counted", payload: { count: 1 } }], { at: 1 });
      const before = harness.dump();
      expect(codeOf(() => old.append([note("no")], { at: 1 }))).toBe("log_newer_than_code");
      expect(old.mode).toMatchObject({ writable: false, reason: "log_newer_than_code" });
      expect(harness.dump()).toBe(before);
    },
  );

  check(
    "[L6] a type whose first append was refused is known for unknown once it is stored",
    (harness) => {
      const log = harness.open();
      fill(log, 2);
      const counted = { type: "note.counted", payload: { count: 1 } } as const;
      expect(codeOf(() => log.append([counted], { at: 1, expectedSeq: 9 }))).toBe("conflict");
      log.append([counted], { at: 1 });
      expect(harness.open({ catalogue: older }).mode).toMatchObject({
        reason: "log_newer_than_code",
      });
    },
  );

  check("[L6] an older version is brought up on read, the stored bytes stay", (harness) => {
    fill(harness.open(), 1);
    const upcast = (_type: string, version: number, payload: Json): Json => ({
      ...(payload as object),
      from: version,
    });
    const log = harness.open({ catalogue: { ...newer, upcast } });
    log.append([note("new")], { at: 1 });
    expect(log.read().map((event) => [event.header.version, event.payload])).toEqual([
      [1, { text: "note 0", from: 1 }],
      [2, { text: "new" }],
    ]);
    expect(verifyChain(log.raw(), harness.hasher).ok).toBe(true);
  });

  check(
    "[L6] after a failed migration the log is readable and refuses every write",
    async (harness) => {
      fill(harness.open(), 2);
      const before = harness.dump();
      const log = harness.open({
        readOnly: { reason: "migration_failed", message: "0001 failed" },
        projections: [harness.tally(1)],
      });
      expect(log.mode).toEqual({
        writable: false,
        reason: "migration_failed",
        message: "0001 failed",
      });
      expect(log.read()).toHaveLength(2);
      expect(log.fold(COUNT)).toEqual({ state: { events: 2 }, seq: 2 });
      expect(codeOf(() => log.append([note("no")], { at: 1 }))).toBe("migration_failed");
      expect(codeOf(() => log.saveSnapshot(COUNT, { events: 2 }, 2))).toBe("migration_failed");
      await expect(log.drain([])).rejects.toMatchObject({ code: "migration_failed" });
      expect(harness.dump()).toBe(before);
    },
  );
}

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

/** Counts how many events it was given: how much a fold had to read. */
function counting(version: number = 1): {
  readonly fold: Fold<TestEvents, Count>;
  evolved: number;
} {
  const probe = {
    evolved: 0,
    fold: {
      ...COUNT,
      version,
      evolve: (state: Count, event: StoredEvent<TestEvents>) => {
        probe.evolved += 1;
        return COUNT.evolve(state, event);
      },
    },
  };
  return probe;
}

function snapshots(check: Check): void {
  check(
    "[L9] a fold starts at the newest snapshot and gives the state of a full fold, over many slices",
    (harness) => {
      const log = harness.open();
      fill(log, 251);
      expect(log.fold(COUNT)).toEqual({ state: { events: 251 }, seq: 251 });
      log.saveSnapshot(COUNT, { events: 240 }, 240);
      const probe = counting();
      expect(harness.open().fold(probe.fold)).toEqual({ state: { events: 251 }, seq: 251 });
      expect(probe.evolved).toBe(11);
    },
  );

  check(
    "[L9] a snapshot of another fold version, or that does not fit its digest, is passed over",
    (harness) => {
      const log = harness.open();
      fill(log, 4);
      log.saveSnapshot(COUNT, { events: 4 }, 4);
      const raised = counting(2);
      expect(log.fold(raised.fold).state).toEqual({ events: 4 });
      expect(raised.evolved).toBe(4);
      harness.damageSnapshot(4);
      const damaged = counting();
      expect(log.fold(damaged.fold).state).toEqual({ events: 4 });
      expect(damaged.evolved).toBe(4);
    },
  );

  check(
    "[L9] the newest two are kept: losing the newest falls back to the one before",
    (harness) => {
      const log = harness.open();
      fill(log, 6);
      const size = (): number => harness.dump().length;
      for (const seq of [2, 3]) log.saveSnapshot(COUNT, { events: seq }, seq);
      const two = size();
      for (const seq of [4, 5, 5]) log.saveSnapshot(COUNT, { events: seq }, seq);
      expect(size()).toBe(two);
      const evolved = (): number => {
        const probe = counting();
        log.fold(probe.fold);
        return probe.evolved;
      };
      expect(evolved()).toBe(1);
      harness.damageSnapshot(5);
      expect(evolved()).toBe(2);
      harness.damageSnapshot(4);
      expect(evolved()).toBe(6);
    },
  );

  check("[L9] a large state goes to chunks and comes back", (harness) => {
    const log = harness.open();
    fill(log, 1);
    const fold: Fold<TestEvents, string> = {
      ...COUNT,
      id: "text",
      initial: () => "",
      evolve: (state) => state,
      dump: (state) => state,
      restore: String,
    };
    const state = "漢".repeat(700_000);
    log.saveSnapshot(fold, state, 1);
    expect(harness.largestRow()).toBeLessThanOrEqual(1_572_864);
    expect(harness.open().fold(fold).state === state).toBe(true);
  });

  check(
    "[L4] an erasure takes the snapshots, which hold content of the events behind them",
    (harness) => {
      const log = harness.open();
      fill(log, 2);
      const before = harness.dump();
      log.saveSnapshot(COUNT, { events: 2 }, 2);
      log.erase([1]);
      const probe = counting();
      log.fold(probe.fold);
      expect(probe.evolved).toBe(2);
      expect(harness.dump().length).toBeLessThan(before.length);
    },
  );
}

function projections(check: Check): void {
  check(
    "[L12] a projection commits with its events and is left alone while its version stands",
    (harness) => {
      fill(harness.open({ projections: [harness.tally(1)] }), 3);
      expect(harness.tallied()).toEqual({ "note.added": 3 });
      const again = harness.tally(1);
      harness.open({ projections: [again] });
      expect(again.resets).toBe(0);
    },
  );

  check(
    "[L12] a raised version, or a projection added later, is rebuilt at open with the same result",
    (harness) => {
      fill(harness.open(), 230);
      const added = harness.tally(1);
      const log = harness.open({ projections: [added] });
      expect([added.resets, harness.tallied()]).toEqual([1, { "note.added": 230 }]);
      fill(log, 1);
      const incremental = harness.tallied();
      const raised = harness.tally(2);
      harness.open({ projections: [raised] });
      expect([raised.resets, harness.tallied()]).toEqual([1, incremental]);
      const settled = harness.tally(2);
      harness.open({ projections: [settled] });
      expect(settled.resets).toBe(0);
    },
  );
}

function damage(check: Check): void {
  check("[L1] a log with a gap opens, closed, when a projection has to be rebuilt", (harness) => {
    fill(harness.open({ projections: [harness.tally(1)] }), 5);
    harness.dropEvent(3);
    const log = harness.open({ projections: [harness.tally(2)] });
    expect(log.mode).toMatchObject({ writable: false, reason: "log_corrupt" });
    expect(harness.tallied()).toEqual({ "note.added": 5 });
    expect(log.read()).toHaveLength(4);
  });

  check(
    "[L1] a missing event closes the log when it is folded, and it stays readable",
    (harness) => {
      fill(harness.open(), 5);
      harness.dropEvent(3);
      const log = harness.open();
      expect(() => log.fold(COUNT)).toThrow(
        expect.objectContaining({ code: "log_corrupt", detail: { seq: 3 } }),
      );
      expect(log.mode).toMatchObject({ writable: false, reason: "log_corrupt" });
      expect(log.read()).toHaveLength(4);
      expect(codeOf(() => log.append([note("no")], { at: 1 }))).toBe("log_corrupt");
      expect(verifyChain(log.raw(), harness.hasher)).toEqual({
        ok: false,
        error: { seq: 3, reason: "seq_unexpected" },
      });
    },
  );

  check(
    "[L3] a newest header that does not fit its hash closes the log at open; an older one shows in verification",
    (harness) => {
      const log = harness.open();
      fill(log, 3);
      const flip = (seq: number): void =>
        harness.rewriteHeader(
          seq,
          (log.raw({ from: seq, limit: 1 })[0]?.header ?? "").replace('"at":1', '"at":2'),
        );
      flip(2);
      expect(harness.open().mode).toEqual({ writable: true });
      expect(verifyChain(log.raw(), harness.hasher)).toEqual({
        ok: false,
        error: { seq: 2, reason: "hash_mismatch" },
      });
      flip(3);
      expect(harness.open().mode).toMatchObject({ writable: false, reason: "log_corrupt" });
    },
  );
}
