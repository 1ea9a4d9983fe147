/**
 * Exports and what becomes of them in other hands: each tampering is found by both verifiers, at the same place and for the
 * same reason (H6, H9).
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { PublicKey } from "#ports/signing.ts";
import type { Json } from "#shared/json.ts";
import { toJwk } from "#audit/key-set.ts";
import { SCENARIOS } from "#test/crash/scenarios.ts";
import { AuditKit, makeKey, toLine, type KitLog } from "#test/support/audit-kit.ts";
import { HAS_PYTHON, verifyWithPython } from "#test/support/python-verifier.ts";
import { ScriptModel } from "#test/support/scripted-model.ts";
import { rehash, reseal, toRecords, toText, withHeader } from "#test/support/tampering.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";
import { FIRST, SECOND, TAMPERINGS, isOf } from "#test/support/export-tamperings.ts";

if (!HAS_PYTHON) console.warn("python3 is not installed: the second verifier is not run");

async function play(name: string, logId = "log_other"): Promise<ThreadHarness> {
  const scenario = SCENARIOS.find((each) => each.name.startsWith(name));
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const thread = new ThreadHarness({
    model: new ScriptModel(scenario.script),
    tools: scenario.tools(new World()),
    logId,
  });
  await scenario.play(thread);
  return thread;
}
const toKitLog = (harness: ThreadHarness, thread = "main"): KitLog => ({
  log: harness.log as unknown as KitLog["log"],
  tenant: "acme",
  agent: "helper",
  thread,
});

const kit = new AuditKit();
/** The file of a tenant: a run of three steps with approvals, 40 events, of which the last is signed; and two short runs. */
let text = "";
let first: KitLog;
let second: KitLog;

beforeAll(async () => {
  first = toKitLog(await play("approvals", FIRST));
  // The harness names all its threads alike; as a tenant's file the two logs stand side by side.
  second = toKitLog(await play("two queued", SECOND));
  await kit.anchor(first);
  await kit.anchor(second);
  text = await kit.export([first, second]);
});

/** Every file of this suite with the verdict of TypeScript, for the other verifier at the end: it takes a second to start. */
const verdicts: { readonly file: string; readonly trust: string; readonly line: string }[] = [];

async function verdictOf(
  file: string,
  keys: readonly PublicKey[] | null = kit.keys,
): Promise<string> {
  const trust = keys !== null ? "given" : file.includes('{"key":') ? "file" : "none";
  const line = toLine(await kit.verify(file, keys), trust);
  verdicts.push({
    file,
    trust: JSON.stringify(keys === null ? null : { keys: keys.map(toJwk) }),
    line,
  });
  return line;
}

describe("a sound export", () => {
  test("[H5] verifies by the keys of the service, and [H7] without any it says that they came from the file", async () => {
    const counts = "logs=2 events=65 erased=0 anchors=4 unanchored=0";
    expect(await verdictOf(text)).toBe(`ok ${counts} keys=given signed=yes`);
    expect(await verdictOf(text, null)).toBe(`ok ${counts} keys=file signed=yes`);
  });

  test("[H8] with lawful erasures it verifies, and says how many there are", async () => {
    const log = toKitLog(await play("two queued"));
    const own = new AuditKit();
    await own.anchor(log);
    log.log.erase([3, 9, 11]);
    expect(toLine(await own.verify(await own.export([log])), "given")).toBe(
      "ok logs=1 events=25 erased=3 anchors=3 unanchored=0 keys=given signed=yes",
    );
  });

  test("[H4] heads signed before a rotation verify by the retired key, and the retired key signs nothing later", async () => {
    const own = new AuditKit();
    const log = toKitLog(await play("two queued"));
    await own.anchor(log);
    const old = own.current;
    own.clock.advance(60_000);
    const retired = { ...old.key, notAfter: own.clock.now() };
    own.current = makeKey(own.clock.now());
    own.retired = [retired];
    const file = await own.export([log]);
    expect(await own.verify(file)).toMatchObject({ ok: true, value: { anchors: 3 } });
    expect(await own.verify(file, [own.current.key])).toMatchObject({
      error: { reason: "key_unknown" },
    });
    own.current = { ...old, key: retired };
    own.retired = [];
    const late = await own.export([log]);
    expect(await own.verify(late)).toMatchObject({ error: { reason: "key_not_valid" } });
  });

  test("[H7] where no key signed, it says so; given keys do not accept it", async () => {
    const own = new AuditKit();
    const log = toKitLog(await play("text only"));
    const file = await own.export([log], null);
    expect(toLine(await own.verify(file, null), "none")).toMatch(/ anchors=0 .* signed=no$/);
    expect(await own.verify(file)).toMatchObject({ error: { reason: "end_unsigned" } });
  });
});

describe("a tampered export", () => {
  test.each(TAMPERINGS)("[H6] $name: $reason at $seq", async ({ change, seq, reason }) => {
    const tampered = toText(change(toRecords(text)));
    expect(tampered).not.toBe(text);
    const verdict = await verdictOf(tampered);
    expect(verdict).toMatch(/^bad /);
    expect(verdict).toContain(` reason=${reason} `);
    if (reason !== "anchor_misplaced") expect(verdict).toContain(`log=${FIRST} seq=${seq} `);
  });

  test("[H6] a re-hash says behind which signed head the log was rewritten", async () => {
    const rewrite = reseal(
      rehash(
        toRecords(text).map((record) =>
          isOf(record, SECOND) && record.seq === 20 ? withHeader(record, { at: 1 }) : record,
        ),
      ),
    );
    const verdict = await verdictOf(toText(rewrite));
    expect(verdict).toMatch(/seq=21 reason=anchor_mismatch line=\d+ since=13$/);
  });

  test("[H6] the wrong key: nothing in the file is signed by it", async () => {
    expect(await verdictOf(text, [makeKey(kit.clock.now()).key])).toContain(" reason=key_unknown ");
  });

  test("[H7] re-signed by a forger the file holds against its own keys, and not against those of the service", async () => {
    const forger = new AuditKit();
    forger.current = makeKey(forger.clock.now());
    await forger.anchor(second);
    const file = await forger.export([second]);
    expect(await verdictOf(file, null)).toMatch(/^ok .* keys=file /);
    expect(await verdictOf(file)).toContain(" reason=key_unknown ");
  });

  test.each([
    [
      "without its last line",
      (lines: string) => lines.split("\n").slice(0, -2).join("\n").concat("\n"),
      "end_missing",
    ],
    ["cut in the middle of a line", (lines: string) => lines.slice(0, -10), "line_invalid"],
    [
      "cut in the middle of a log",
      (lines: string) => lines.split("\n").slice(0, 30).join("\n").concat("\n"),
      "head_mismatch",
    ],
    ["with a line more", (lines: string) => `${lines}{"end":{}}\n`, "line_invalid"],
    ["with a blank", (lines: string) => lines.replace('"seq":5}', '"seq": 5}'), "line_invalid"],
    ["empty", () => "", "manifest_invalid"],
    [
      "with other counts",
      (lines: string) => lines.replace(/"logs":\d+/, '"logs":9'),
      "end_mismatch",
    ],
  ])("[H5] %s is never taken for whole", async (_name, change, reason) => {
    expect(await verdictOf(change(text))).toContain(` reason=${reason} `);
  });
});

test.runIf(HAS_PYTHON)(
  "[H9] the second verifier says the same of every file of this suite",
  () => {
    const byTrust = Map.groupBy(verdicts, ({ trust }) => trust);
    expect(verdicts.length).toBeGreaterThan(25);
    for (const [trust, files] of byTrust) {
      const lines = verifyWithPython(
        files.map(({ file }) => file),
        JSON.parse(trust) as Json,
      );
      expect(lines).toEqual(files.map(({ line }) => line));
    }
  },
  120_000,
);
