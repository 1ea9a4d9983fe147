/** A ledger's log in the export of its tenant (H13): signed, verified by both verifiers, and found out when it was changed. */
import { beforeAll, describe, expect, test } from "vitest";
import type { EventLog } from "#ports/event-log.ts";
import { trusted } from "#shared/ids.ts";
import type { JsonObject } from "#shared/json.ts";
import { AuditKit, type KitLog, toLine } from "#test/support/audit-kit.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";
import { HAS_PYTHON, verifyWithPython } from "#test/support/python-verifier.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";
import {
  isEvent,
  rehash,
  reseal,
  toRecords,
  toText,
  withPayload,
} from "#test/support/tampering.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

const NOTHING = { costMicros: 0, tokens: 0, steps: 0, wallMs: 0 };

async function busyLedger(kit: AuditKit): Promise<NodeLedger> {
  const ledger = new NodeLedger(kit.clock);
  await ledger.putBudget(budgetOf(1_000_000), "key_op");
  for (let lease = 0; lease < 60; lease += 1) {
    const leaseId = `log_1-l${lease}`;
    const thread = trusted<never>(`t${lease % 3}`);
    await ledger.lease({
      leaseId,
      holder: { agent: trusted("helper"), thread, run: "run_1", user: "usr_1" },
      epoch: 1,
      seq: lease,
      settled: NOTHING,
      overrun: NOTHING,
      closed: null,
      need: { ...NOTHING, costMicros: 10 },
      priced: true,
      grant: null,
    });
    const settled = { ...NOTHING, costMicros: 7, steps: 1 };
    await ledger.report([{ type: "closed", leaseId, seq: lease + 1, settled, overrun: NOTHING }]);
  }
  return ledger;
}

interface Exported {
  readonly kit: AuditKit;
  readonly logs: readonly KitLog[];
  readonly text: string;
}

/** Nothing below changes it. */
let exported: Exported;
beforeAll(async () => {
  exported = await setup();
});

async function setup(): Promise<Exported> {
  const kit = new AuditKit();
  const thread = new ThreadHarness({ model: new ScriptModel([say("done")]), clock: kit.clock });
  thread.send("go");
  await thread.finish();
  const ledger = await busyLedger(kit);
  const of = (log: unknown): EventLog<never> => log as EventLog<never>;
  const logs = [
    { log: of(thread.log), tenant: "acme", agent: "helper", thread: "main" },
    { log: of(ledger.log), tenant: "acme", agent: null, thread: null },
  ];
  for (const log of logs) await kit.anchor(log);
  return { kit, logs, text: await kit.export(logs) };
}

describe("[H13] the log of a ledger", () => {
  test("is part of its tenant's export, with signed heads, and both verifiers accept it", async () => {
    const { kit, logs, text } = exported;
    const [thread, ledger] = logs;
    const events = (thread?.log.head().seq ?? 0) + (ledger?.log.head().seq ?? 0);
    expect(ledger?.log.head().seq).toBeGreaterThan(100);
    const result = await kit.verify(text);
    expect(result).toMatchObject({ ok: true, value: { logs: 2, events, signed: true } });
    // The thread's end of run, and the ledger's hundredth event.
    expect(result.ok && result.value.anchors).toBe(2);
    if (HAS_PYTHON) expect(verifyWithPython([text])).toEqual([toLine(result, "file")]);
  });

  test("shows an amount that was changed, also where the whole chain was written anew after it", async () => {
    const { kit, text } = exported;
    const records = toRecords(text);
    const at = records.findIndex((record) => isClosed(record));
    const changed = records.map((record, index) =>
      index === at && isEvent(record)
        ? withPayload(record, { ...payloadOf(record), settled: { ...NOTHING, costMicros: 1 } })
        : record,
    );
    const forgeries = [
      [toText(reseal(changed)), "prev_mismatch"],
      [toText(reseal(rehash(changed))), "anchor_mismatch"],
    ] as const;
    await expectFaults(kit, forgeries);
  });

  test("cannot be left out, cut, or passed off as another tenant's", async () => {
    const { kit, logs, text } = exported;
    const records = toRecords(text);
    const from = records.findLastIndex((record) => "log" in record);
    const left = [...records.slice(0, from), ...records.slice(-1)];
    const cut = records.filter((record) => !isEvent(record) || record.seq < 99);
    const forgeries = [
      [toText(reseal(left)), "log_missing"],
      [toText(reseal(cut)), "head_mismatch"],
      [await kit.export(logs.map((log) => ({ ...log, tenant: "other" }))), "log_mismatch"],
    ] as const;
    await expectFaults(kit, forgeries);
  });
});

async function expectFaults(
  kit: AuditKit,
  forgeries: readonly (readonly [forged: string, reason: string])[],
): Promise<void> {
  for (const [forged, reason] of forgeries)
    expect(await kit.verify(forged)).toMatchObject({ ok: false, error: { reason } });
  if (!HAS_PYTHON) return;
  const said = verifyWithPython(forgeries.map(([forged]) => forged));
  for (const [index, [, reason]] of forgeries.entries())
    expect(said[index]).toContain(`reason=${reason}`);
}

type Line = ReturnType<typeof toRecords>[number];

function isClosed(record: Line): boolean {
  return isEvent(record) && record.header.includes('"type":"lease.closed"') && record.seq > 5;
}

function payloadOf({ payload }: { readonly payload: string | null }): JsonObject {
  return JSON.parse(Buffer.from(payload ?? "", "base64").toString("utf8")) as JsonObject;
}
