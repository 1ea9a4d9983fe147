/** Which heads are signed, and what repeated and cut-off deliveries leave (H1 to H3). */
import { describe, expect, it } from "vitest";
import { AuditKit, type KitLog } from "#test/support/audit-kit.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

async function played(
  messages: number,
): Promise<{ readonly thread: ThreadHarness; readonly log: KitLog }> {
  const thread = new ThreadHarness({
    model: new ScriptModel(Array.from({ length: messages }, () => say("done"))),
  });
  for (let count = 0; count < messages; count += 1) {
    thread.send("go");
    await thread.finish();
  }
  const log = thread.log as unknown as KitLog["log"];
  return { thread, log: { log, tenant: "acme", agent: "helper", thread: "main" } };
}
const seqsOf = async (kit: AuditKit, { log }: KitLog): Promise<readonly number[]> => {
  const range = { tenant: "acme", logId: log.logId, from: 1, to: 10_000, limit: 1_000 };
  const [stored, copied] = [await kit.anchors.list(range), await kit.copies.list(range)];
  expect(copied).toEqual(stored);
  return stored.map(({ seq }) => seq);
};

describe("anchoring", () => {
  it("[H1] signs each run's end and each hundredth event, and nothing else", async () => {
    const { thread, log } = await played(30);
    const kit = new AuditKit();
    await kit.anchor(log);
    const ends = thread.of("run.completed").map(({ header }) => header.seq);
    expect(thread.log.head().seq).toBeGreaterThan(100);
    expect(await seqsOf(kit, log)).toEqual(
      [...new Set([...ends, 100])].toSorted((left, right) => left - right),
    );
    expect(kit.conflicts).toEqual([]);
  });

  it("[H3] however deliveries are cut, the places are the same, and the second store holds what the first does", async () => {
    const { log } = await played(12);
    const whole = new AuditKit();
    await whole.anchor(log);
    const expected = await seqsOf(whole, log);
    for (const limit of [1, 7]) {
      const { log: same } = await played(12);
      const kit = new AuditKit();
      await kit.anchor(same, limit);
      expect(await seqsOf(kit, same)).toEqual(expected);
    }
  });

  it("[H3] cut off between the two stores, the next delivery copies what stands, signed at the first time", async () => {
    const { log } = await played(1);
    const kit = new AuditKit();
    kit.failCopies = true;
    await expect(kit.anchor(log)).rejects.toThrow("away");
    expect(log.log.cursors().find(({ name }) => name === "anchors")?.seq ?? 0).toBe(0);
    kit.failCopies = false;
    kit.clock.advance(5_000);
    await kit.anchor(log);
    const [seq] = await seqsOf(kit, log);
    const range = { tenant: "acme", logId: log.log.logId, from: 1, to: 100, limit: 1 };
    const [standing] = await kit.copies.list(range);
    expect([standing?.seq, standing?.at]).toEqual([seq, kit.clock.now() - 5_000]);
  });

  it("[H2] a log that was rewritten since is reported, and what was signed stays", async () => {
    const { log } = await played(1);
    const kit = new AuditKit();
    const { seq } = log.log.head();
    const place = { tenant: "acme", logId: log.log.logId };
    const other = {
      ...place,
      agent: "helper",
      thread: "main",
      seq,
      hash: "e".repeat(64),
      at: 1,
      keyId: "k",
      signature: "s",
    };
    await kit.anchors.put([other]);
    await kit.anchor(log);
    expect(kit.conflicts).toEqual([other]);
    expect(await kit.anchors.newest({ ...place, atMost: seq })).toEqual(other);
  });

  it("[H3] the cursor is required: nothing that is not signed yet may be pruned", async () => {
    const { log } = await played(1);
    const kit = new AuditKit();
    await kit.anchor(log);
    expect(log.log.cursors()).toContainEqual({
      name: "anchors",
      required: true,
      seq: log.log.head().seq,
    });
  });
});
