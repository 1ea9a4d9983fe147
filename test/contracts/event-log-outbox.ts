/** The contract of EventLog, continued: rule L10, the outbox. */
import { expect } from "vitest";
import type { OutboxConsumer, StoredEvent } from "#ports/event-log.ts";
import { fill, type Check, type TestEvents } from "./event-log-harness.ts";

/** Delivers to a list; fails when told to, before or after it has taken the events. */
function consumer(
  name: string,
  options: Partial<OutboxConsumer<TestEvents>> = {},
): OutboxConsumer<TestEvents> & { readonly got: number[]; fail: boolean } {
  const self = {
    name,
    required: true,
    got: [] as number[],
    fail: false,
    ...options,
    deliver: (events: readonly StoredEvent<TestEvents>[]): Promise<void> => {
      self.got.push(...events.map((event) => event.header.seq));
      return self.fail ? Promise.reject(new Error("crash after delivery")) : Promise.resolve();
    },
  };
  return self;
}

export function eventLogOutbox(check: Check): void {
  check(
    "[L10] a crash between delivery and advance delivers again, in order, after a restart",
    async (harness) => {
      const log = harness.open();
      fill(log, 5);
      const target = consumer("rollup");
      expect(await log.drain([target], 2)).toBe(true);
      target.fail = true;
      await expect(log.drain([target], 2)).rejects.toThrow("crash after delivery");
      target.fail = false;
      const reopened = harness.open();
      while (await reopened.drain([target], 2));
      expect(target.got).toEqual([1, 2, 3, 4, 3, 4, 5]);
      expect(await reopened.drain([target], 2)).toBe(false);
      expect(target.got).toHaveLength(7);
    },
  );

  check("[L10] one consumer's failure does not hold up the others", async (harness) => {
    const log = harness.open();
    fill(log, 2);
    const broken = consumer("a");
    broken.fail = true;
    const sound = consumer("b");
    await expect(log.drain([broken, sound])).rejects.toThrow("crash after delivery");
    expect(sound.got).toEqual([1, 2]);
    expect(log.cursors()).toEqual([
      { name: "a", seq: 0, required: true },
      { name: "b", seq: 2, required: true },
    ]);
  });

  check(
    "[L10] a cursor passes over types that do not interest it without a call",
    async (harness) => {
      const log = harness.open();
      fill(log, 3);
      log.append([{ type: "note.counted", payload: { count: 1 } }], { at: 1 });
      const target = consumer("counts", { types: ["note.counted"] });
      expect(await log.drain([target], 3)).toBe(true);
      expect(target.got).toEqual([]);
      expect(await log.drain([target], 3)).toBe(false);
      expect(target.got).toEqual([4]);
    },
  );

  check(
    "[L10] consumers at one place share a reading, but nothing that was erased between them",
    async (harness) => {
      const log = harness.open();
      const got: (readonly StoredEvent<TestEvents>[])[] = [];
      const taker = (name: string, then: () => void = () => undefined) => ({
        name,
        required: true,
        deliver: async (events: readonly StoredEvent<TestEvents>[]): Promise<void> => {
          got.push(events);
          then();
        },
      });
      fill(log, 3);
      await log.drain([taker("a"), taker("b", () => log.erase([2])), taker("c")]);
      const [first, second, third] = got;
      expect(second).toBe(first);
      expect(first?.map(({ payload }) => payload)).not.toContain(null);
      expect(third?.map(({ payload }) => payload === null)).toEqual([false, true, false]);
    },
  );

  check("[L10] two drains at once deliver each event once and in order", async (harness) => {
    const log = harness.open();
    fill(log, 4);
    const target = consumer("anchor");
    await Promise.all([log.drain([target]), log.drain([target])]);
    expect(target.got).toEqual([1, 2, 3, 4]);
  });

  check(
    "[L10] pruning never passes a required cursor, one that never delivered included",
    async (harness) => {
      const log = harness.open();
      fill(log, 4);
      expect(log.prunable()).toBe(4);
      await log.drain([consumer("optional", { required: false })], 1);
      expect(log.prunable()).toBe(4);
      await log.drain([consumer("needed")], 3);
      expect(log.prunable()).toBe(3);
      const stuck = consumer("stuck");
      stuck.fail = true;
      await expect(log.drain([stuck])).rejects.toThrow();
      expect(log.prunable()).toBe(0);
    },
  );
}
