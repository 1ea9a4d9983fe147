/**
 * Prints the golden export of the log format: fixed ids, salts and times, one erased payload.
 *
 *     node scripts/build-golden-log.ts > test/fixtures/logs/chain-v1.jsonl
 *
 * The checked-in file is never edited; a test compares it with what this prints, so a change of the stored form shows.
 */
import { fileURLToPath } from "node:url";
import { MemoryBlobStore } from "#adapters/blob/memory-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { MemoryDatabase } from "#adapters/log/memory-database.ts";
import { MemoryEventLog } from "#adapters/log/memory-event-log.ts";
import { exportLog } from "#audit/export.ts";
import type { Catalogue, Draft } from "#ports/event-log.ts";
import { SeededIds } from "#test/support/seeded-ids.ts";

interface GoldenEvents {
  readonly "note.added": { readonly text: string };
  readonly "note.weighed": { readonly grams: number; readonly labels: readonly string[] };
}
const CATALOGUE: Catalogue<GoldenEvents> = {
  name: "golden",
  versions: { "note.added": 1, "note.weighed": 3 },
  upcast: (_type, _version, payload) => payload,
};
const DRAFTS: readonly Draft<GoldenEvents>[] = [
  { type: "note.added", payload: { text: "plain" } },
  {
    type: "note.added",
    payload: { text: 'é 漢 😀 \u2028 \u0000 "quoted" \\ \ud800' },
    scope: { run: "run_1", step: 1, call: "call_1", attempt: 2, cause: "evt_1_000001" },
  },
  {
    type: "note.weighed",
    payload: { grams: 1e21, labels: ["-0", "1.5"] },
    scope: { costMicros: 1_234_567, costKind: "recovery", priceVersion: "2026-11" },
  },
  {
    type: "note.added",
    payload: { text: "to be erased" },
    scope: { actor: "user:u1", subject: "u1", origin: ["tool", "web"] },
  },
  {
    type: "note.added",
    payload: { text: "漢".repeat(100) },
    scope: {
      traceId: "t1",
      spanId: "s2",
      parentSpanId: "s1",
      rootRun: "run_0",
      parentRun: "run_0",
      depth: 1,
      deadline: 1_800_000_000_000,
    },
  },
  {
    type: "note.weighed",
    payload: { grams: 0.1, labels: [] },
    scope: { definition: "0".repeat(64), leaseId: "lease_1" },
  },
];

export function buildGoldenLog(): string {
  const database = new MemoryDatabase();
  const log = new MemoryEventLog<GoldenEvents>({
    database,
    blobs: new MemoryBlobStore(database),
    hasher: new NodeHasher(),
    ids: new SeededIds(1),
    codec: new IdentityCodec(),
    catalogue: CATALOGUE,
    logId: "log_golden",
    defaults: { tenant: "acme", agent: "clerk", thread: "main" },
  });
  for (const [index, draft] of DRAFTS.entries())
    log.append([draft], { at: 1_700_000_000_000 + index });
  log.erase([4]);
  return `${[...exportLog(log)].join("\n")}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(buildGoldenLog());
