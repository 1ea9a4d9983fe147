/**
 * Exports of random logs: both verifiers accept a thousand of them, and of each with one bit flipped anywhere both name the
 * same fault (H9). Signatures are checked in both languages; the second one's are a few milliseconds each.
 */
import { beforeAll, expect, test, vi } from "vitest";
import { toJwk } from "#audit/key-set.ts";
import { CATALOGUE, type TestEvents } from "#test/contracts/event-log-harness.ts";
import { AuditKit, toLine, type KitLog } from "#test/support/audit-kit.ts";
import { openNodeLog } from "#test/support/node-log.ts";
import { HAS_PYTHON, verifyWithPython } from "#test/support/python-verifier.ts";
import { createRandom } from "#test/support/seeded-random.ts";

const EXPORTS = 1_000;
const FLIPS = 1_000;
const TEXTS = ["", "a", "漢字", "\ud800", "__proto__", "x".repeat(300), "é vs é", '"quoted" \\ '];
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const kit = new AuditKit();
const keys = { keys: [toJwk(kit.current.key)] };
const random = createRandom(20_261_130);
const exports: string[] = [];

/** Up to twelve events, some of which end a run, some erased. */
function randomLog(index: number): KitLog {
  const { log } = openNodeLog<TestEvents>(CATALOGUE, {
    logId: `log_${index}`,
    defaults: { tenant: "acme", agent: "random", thread: `t${index}` },
  });
  const count = 1 + random.below(12);
  for (let at = 0; at < count; at += 1) {
    const text = TEXTS[random.below(TEXTS.length)] ?? "";
    const costs = { costMicros: random.below(1_000), costKind: "normal" } as const;
    const scope = random.below(2) === 0 ? costs : {};
    log.append([{ type: "note.added", payload: { text }, scope }], { at });
  }
  // The kit takes logs of any catalogue.
  return {
    log: log as unknown as KitLog["log"],
    tenant: "acme",
    agent: "random",
    thread: `t${index}`,
  };
}

async function randomExport(index: number): Promise<string> {
  const log = randomLog(index);
  const { seq } = log.log.head();
  if (random.below(3) > 0) await kit.anchorAt(log, [1 + random.below(seq)]);
  const gone = Array.from({ length: random.below(3) }, () => 1 + random.below(seq));
  log.log.erase(gone);
  return kit.export([log]);
}

beforeAll(async () => {
  for (let index = 0; index < EXPORTS; index += 1) exports.push(await randomExport(index));
});

test("[H9] both verifiers accept a thousand random exports, with the same counts", async () => {
  const ours: string[] = [];
  for (const text of exports) ours.push(toLine(await kit.verify(text), "given"));
  expect(ours.filter((line) => !line.startsWith("ok "))).toEqual([]);
  expect(new Set(ours).size).toBeGreaterThan(50);
  if (HAS_PYTHON) expect(verifyWithPython(exports, keys)).toEqual(ours);
});

test("[H9] one bit flipped anywhere in an export is found by both, at the same place", async () => {
  const ours: string[] = [];
  const flipped: Uint8Array[] = [];
  for (let round = 0; round < FLIPS; round += 1) {
    const bytes = new TextEncoder().encode(exports[random.below(EXPORTS)]);
    const at = random.below(bytes.byteLength);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    flipped.push(bytes);
    ours.push(toLine(await kit.verify(bytes), "given"));
  }
  expect(ours.filter((line) => line.startsWith("ok "))).toEqual([]);
  if (HAS_PYTHON) expect(verifyWithPython(flipped, keys)).toEqual(ours);
});

test("[H9] every single bit of one export: none can change without a fault", async () => {
  const [text = ""] = exports.toSorted((left, right) => left.length - right.length);
  const missed: number[] = [];
  const bytes = new TextEncoder().encode(text);
  for (let bit = 0; bit < bytes.byteLength * 8; bit += 1) {
    const changed = bytes.slice();
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    if ((await kit.verify(changed)).ok) missed.push(bit);
  }
  expect(missed).toEqual([]);
});
