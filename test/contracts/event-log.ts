/**
 * The contract of EventLog: rules L1, L2 and L5 here, the others in the files it imports. Runs against any
 * harness, in Node and in workerd; nothing here imports a runtime.
 */
import { describe, expect, test } from "vitest";
import { verifyChain } from "#audit/hash-chain.ts";
import type { Json } from "#shared/json.ts";
import { codeOf, fill, note, type Check, type LogHarness } from "./event-log-harness.ts";
import { eventLogLifecycle } from "./event-log-lifecycle.ts";
import { eventLogPruning } from "./event-log-pruning.ts";
import { eventLogChain } from "./event-log-chain.ts";

const ZEROS = "0".repeat(64);

/**
 * `withHarness` makes a harness, awaits the body on it and closes it; in workerd it does so inside of an object, the only
 * place where its storage may be touched.
 */
export function eventLogContract(
  name: string,
  withHarness: (body: (harness: LogHarness) => void | Promise<void>) => Promise<void>,
): void {
  const check: Check = (title, body) => test(`${title}`, () => withHarness(body));
  describe(`event log: ${name}`, () => {
    orderAndTransaction(check);
    eventLogChain(check);
    writers(check);
    eventLogLifecycle(check);
    eventLogPruning(check);
  });
}

function orderAndTransaction(check: Check): void {
  check(
    "[L1] seq is gapless from 1 across appends, restarts and a clock that runs backwards",
    (harness) => {
      const log = harness.open();
      expect(log.head()).toEqual({ seq: 0, hash: ZEROS });
      log.append([note("a"), note("b")], { at: 2_000 });
      log.append([note("c")], { at: 1_000 });
      const reopened = harness.open();
      reopened.append([note("d")], { at: 1 });
      expect(reopened.read().map((event) => [event.header.seq, event.header.at])).toEqual([
        [1, 2_000],
        [2, 2_000],
        [3, 1_000],
        [4, 1],
      ]);
      expect(reopened.head().seq).toBe(4);
      expect(reopened.logId).toBe(log.logId);
    },
  );

  check("[L1] reads are bounded from both ends, forwards and backwards", (harness) => {
    const log = harness.open();
    fill(log, 6);
    const seqs = (options: Parameters<typeof log.read>[0]): readonly number[] =>
      log.read(options).map((event) => event.header.seq);
    expect(seqs({ from: 2, to: 4 })).toEqual([2, 3, 4]);
    expect(seqs({ from: 3, limit: 2 })).toEqual([3, 4]);
    expect(seqs({ reverse: true, limit: 2 })).toEqual([6, 5]);
    expect(seqs({ from: 7 })).toEqual([]);
    expect(log.get(5)?.header.seq).toBe(5);
    expect(log.get(9)).toBeNull();
  });

  check("[L1] what append returns is what a read returns", (harness) => {
    const stored = harness
      .open()
      .append([note("é 漢 😀"), { type: "note.counted", payload: { count: 3 } }], { at: 5 });
    expect(harness.open().read()).toEqual(stored);
  });

  check(
    "[L2] a throw from within undoes events, chunks, projections, epoch and the caller's nested append",
    (harness) => {
      const log = harness.open({ projections: [harness.tally(1)] });
      const before = harness.dump();
      const attempt = (): unknown =>
        log.append([note("x".repeat(400_000))], {
          at: 1,
          within: () => {
            log.append([note("nested")], { at: 2 });
            throw new Error("caller failed");
          },
        });
      expect(attempt).toThrow("caller failed");
      expect(harness.dump()).toBe(before);
      expect(log.head().seq).toBe(0);
      log.append([note("kept")], { at: 3 });
      expect(log.read().map((event) => event.payload)).toEqual([{ text: "kept" }]);
      expect(harness.tallied()).toEqual({ "note.added": 1 });
      // What the first append of a writer persists was undone with it, and is written again with the next.
      expect(harness.open().logId).toBe(log.logId);
      expect(harness.open().epoch).toBe(log.epoch + 1);
    },
  );

  check(
    "[L2] a rollback later in a writer's life leaves its vocabulary and chain sound",
    (harness) => {
      const log = harness.open();
      fill(log, 2);
      const fail = (): never => {
        throw new Error("no");
      };
      expect(() =>
        log.append([{ type: "note.counted", payload: { count: 1 } }], { at: 1, within: fail }),
      ).toThrow("no");
      log.append([{ type: "note.counted", payload: { count: 2 } }], { at: 1 });
      expect(verifyChain(log.raw(), harness.hasher, { head: log.head() }).ok).toBe(true);
      const older = {
        name: "older",
        versions: { "note.added": 1 },
        upcast: (_type: string, _version: number, payload: Json) => payload,
      };
      expect(harness.open({ catalogue: older as never }).mode).toMatchObject({
        reason: "log_newer_than_code",
      });
    },
  );

  check(
    "[L2] within sees the events in place, and an inner failure that is swallowed still refuses the whole",
    (harness) => {
      const log = harness.open();
      const seen: number[] = [];
      log.append([note("a")], {
        at: 1,
        within: (events) => seen.push(events.length, log.head().seq),
      });
      expect(seen).toEqual([1, 1]);
      const swallow = (): unknown =>
        log.append([note("b")], {
          at: 1,
          within: () => {
            expect(codeOf(() => log.append([note("c")], { at: 1, expectedSeq: 99 }))).toBe(
              "conflict",
            );
          },
        });
      expect(swallow).toThrow("not committed");
      expect(log.head().seq).toBe(1);
    },
  );

  check("[L2] an append that expects another head is a conflict and writes nothing", (harness) => {
    const log = harness.open();
    fill(log, 1);
    const before = harness.dump();
    expect(codeOf(() => log.append([note("late")], { at: 1, expectedSeq: 0 }))).toBe("conflict");
    expect(harness.dump()).toBe(before);
    log.append([note("in time")], { at: 1, expectedSeq: 1 });
  });

  check(
    "[L2] after an append that was undone, the next one follows the head that is stored",
    (harness) => {
      const log = harness.open();
      fill(log, 2);
      const before = harness.dump();
      const undone = (): unknown =>
        log.append([note("undone"), note("x".repeat(400_000))], {
          at: 1,
          within: () => {
            throw new Error("caller failed");
          },
        });
      expect(undone).toThrow("caller failed");
      expect(harness.dump()).toBe(before);
      log.append([note("y".repeat(400_000))], { at: 2 });
      expect(log.read().map((event) => event.header.seq)).toEqual([1, 2, 3]);
      expect(verifyChain(log.raw(), harness.hasher, { head: log.head() }).ok).toBe(true);
      // Its chunks are stored once, although it was first tried behind the head that was undone.
      expect(harness.dump().length).toBeGreaterThan(before.length + 400_000);
      expect(log.erase([3]).erased).toBe(1);
      expect(harness.dump().length).toBeLessThan(before.length + 10_000);
    },
  );
}

function writers(check: Check): void {
  check("[L5] the writer that opened before another one's first append is refused", (harness) => {
    const first = harness.open();
    fill(first, 1);
    const second = harness.open();
    first.append([note("still the writer")], { at: 1 });
    second.append([note("taken over")], { at: 1 });
    const before = harness.dump();
    expect(codeOf(() => first.append([note("late")], { at: 1 }))).toBe("stale_epoch");
    expect(harness.dump()).toBe(before);
    expect(second.read().map((event) => event.header.epoch)).toEqual([1, 1, 2]);
  });

  check("[L5] of two writers that opened at the same epoch only one may append", (harness) => {
    const one = harness.open();
    const other = harness.open();
    expect(one.epoch).toBe(other.epoch);
    other.append([note("claimed")], { at: 1 });
    expect(codeOf(() => one.append([note("late")], { at: 1 }))).toBe("stale_epoch");
    other.append([note("goes on")], { at: 1 });
    expect(one.read()).toHaveLength(2);
  });

  check("[L5] a writer is overtaken in the middle of its appends", (harness) => {
    const first = harness.open();
    fill(first, 3);
    fill(harness.open(), 1);
    const before = harness.dump();
    for (const expectedSeq of [undefined, 3, 4]) {
      const options = expectedSeq === undefined ? { at: 1 } : { at: 1, expectedSeq };
      expect(codeOf(() => first.append([note("late")], options))).toBe("stale_epoch");
    }
    expect(harness.dump()).toBe(before);
  });

  check("[L5] a wake that only reads writes nothing", (harness) => {
    fill(harness.open(), 2);
    const before = harness.dump();
    const reader = harness.open();
    reader.read();
    reader.raw();
    expect(reader.epoch).toBe(2);
    expect(harness.dump()).toBe(before);
  });
}
