/**
 * The golden log of a ledger, written once and never edited: every type of its catalogue, readable, foldable and verified by
 * every later build. `UPDATE=1` writes it where it is missing.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { exportLog, verifyExport } from "#audit/export.ts";
import type { LedgerEvent } from "#budget/events.ts";
import { LEDGER_CATALOGUE, LEDGER_FOLD } from "#budget/evolve.ts";
import type { BudgetGrant } from "#ports/budget-ledger.ts";
import type { EventHeader } from "#ports/event-log.ts";
import { trusted, type AgentName, type ThreadId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";

const FILE = join(import.meta.dirname, "../../fixtures/logs/ledger-v1.jsonl");
const NONE = { costMicros: 0, tokens: 0, steps: 0, wallMs: 0 };
const HOLDER = {
  agent: trusted<AgentName>("helper"),
  thread: trusted<ThreadId>("main"),
  run: "run_1",
  user: "usr_1",
};

async function play(): Promise<NodeLedger> {
  const ledger = new NodeLedger(new ManualClock());
  await ledger.putBudget(budgetOf(100, { warnAtPercent: [50], atLimit: "ask" }), "key_op");
  const ask = (leaseId: string, costMicros: number, grant: BudgetGrant | null = null) =>
    ledger.lease({
      leaseId,
      holder: HOLDER,
      epoch: 1,
      seq: 1,
      settled: NONE,
      overrun: NONE,
      closed: null,
      need: { ...NONE, costMicros },
      priced: true,
      grant,
    });
  const totals = (leaseId: string, seq: number, costMicros: number, over = 0) => ({
    leaseId,
    seq,
    settled: { ...NONE, costMicros },
    overrun: { ...NONE, costMicros: over },
  });
  await ask("l1", 60);
  await ledger.report([{ type: "settled", ...totals("l1", 5, 60) }]);
  const refused = await ask("l2", 200);
  if (refused.granted || refused.stop === null || refused.ask === null)
    throw new Error("nobody is asked");
  const { window, amount } = refused.ask;
  const of = { budgetId: "money", unit: "costMicros", period: "day", limit: 100 } as const;
  await ask("l2", 200, { ...of, window, amount, approvalId: "evt_1", by: "key_op" });
  await ledger.report([{ type: "closed", ...totals("l1", 6, 60) }]);
  const delta = { ...NONE, costMicros: -5 };
  await ledger.report([{ type: "corrected", leaseId: "l1", seq: 7, delta }]);
  await ledger.report([{ type: "settled", ...totals("l2", 9, 220, 20) }]);
  await ledger.deleteBudget("money", "key_op");
  return ledger;
}

it("[L13] has each type of the catalogue, verifies, and folds", async () => {
  if (!existsSync(FILE) && process.env["UPDATE"] === "1")
    writeFileSync(FILE, `${[...exportLog((await play()).log)].join("\n")}\n`);
  const text = readFileSync(FILE, "utf8");
  expect(verifyExport(text, new NodeHasher()).ok).toBe(true);
  const events = text.trimEnd().split("\n").slice(1).map(toEvent);
  const types = new Set<string>(events.map(({ type }) => type));
  const missing = Object.keys(LEDGER_CATALOGUE.versions).filter((type) => !types.has(type));
  expect(missing).toEqual([]);
  const state = events.reduce(LEDGER_FOLD.evolve, LEDGER_FOLD.initial());
  expect(LEDGER_FOLD.restore(LEDGER_FOLD.dump(state))).toEqual(state);
});

function toEvent(line: string): LedgerEvent {
  const { header: stored, hash, payload } = JSON.parse(line) as Record<string, string>;
  const header = JSON.parse(stored ?? "") as EventHeader;
  const content = JSON.parse(Buffer.from(payload ?? "", "base64").toString("utf8")) as Json;
  const current = LEDGER_CATALOGUE.upcast(header.type as never, header.version, content);
  // The catalogue names every type of the union, and the payload is what was stored for it.
  return { type: header.type, header, hash, payload: current } as unknown as LedgerEvent;
}
