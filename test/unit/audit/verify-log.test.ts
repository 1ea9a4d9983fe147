/**
 * Two verifiers in two languages, one verdict (rule L13): the golden export and exports of live logs are accepted, and
 * of every tampered one both name the same first bad event for the same reason.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { exportLog, verifyExport } from "#audit/export.ts";
import { CATALOGUE, type TestEvents } from "#test/contracts/event-log-harness.ts";
import { openNodeLog } from "#test/support/node-log.ts";
import { buildGoldenLog } from "../../../scripts/build-golden-log.ts";

const hasher = new NodeHasher();
const root = join(import.meta.dirname, "../../..");
const verifier = join(root, "scripts/verify_log.py");
const golden = readFileSync(join(root, "test/fixtures/logs/chain-v1.jsonl"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython)
  console.warn("python3 is not installed: the second verifier of rule L13 is not run");

// Starting an interpreter takes seconds on a loaded machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
afterAll(() => rmSync(folder, { recursive: true }));

/** The lines and the exit code of the Python verifier, one process for all texts. */
function runPython(...texts: readonly string[]): {
  readonly lines: readonly string[];
  readonly status: number | null;
} {
  const paths = texts.map((text, index) => {
    const path = join(folder, `${index}.jsonl`);
    writeFileSync(path, text);
    return path;
  });
  const { stdout, status } = spawnSync("python3", [verifier, ...paths], { encoding: "utf8" });
  // What is of neither format is told in the words of the newer one.
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^bad log=- (seq=0 reason=manifest_invalid) .*$/, "bad $1"));
  return { lines, status };
}

/** The same line from the verifier of this codebase. */
function runOurs(text: string): string {
  const report = verifyExport(text, hasher);
  if (!report.ok) return `bad seq=${report.error.seq} reason=${report.error.reason}`;
  const { logId, events, erased, head } = report.value;
  return `ok log=${logId} events=${events} erased=${erased} head=${head.seq}:${head.hash}`;
}

type Line = {
  seq: number;
  header: string;
  hash: string;
  salt: string | null;
  payload: string | null;
};

/** Changes event lines of the golden export; the manifest stays. */
function tamper(change: (lines: Line[]) => readonly (Line | string)[]): string {
  const [manifest, ...lines] = golden.trimEnd().split("\n");
  const changed = change(lines.map((line) => JSON.parse(line) as Line));
  return `${[manifest, ...changed.map((line) => (typeof line === "string" ? line : JSON.stringify(line)))].join("\n")}\n`;
}

function edit(seq: number, change: (line: Line) => Partial<Line>): string {
  return tamper((lines) =>
    lines.map((line) => (line.seq === seq ? { ...line, ...change(line) } : line)),
  );
}

function flipBit(encoded: string | null): string {
  const bytes = Buffer.from(encoded ?? "", "base64");
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  return bytes.toString("base64");
}

function rehash(header: string): Partial<Line> {
  return { header, hash: hasher.sha256(new TextEncoder().encode(header)) };
}

describe("golden export", () => {
  test("[L13] both verifiers accept the golden export, its erased payload included", () => {
    const head = (JSON.parse(golden.split("\n")[0] ?? "") as { head: { hash: string } }).head.hash;
    const line = `ok log=log_golden events=6 erased=1 head=6:${head}`;
    expect(runOurs(golden)).toBe(line);
    if (hasPython) expect(runPython(golden)).toEqual({ lines: [line], status: 0 });
  });

  test("[L3] the stored form has not changed: the golden export is rebuilt byte for byte", () => {
    expect(buildGoldenLog()).toBe(golden);
  });

  test.runIf(hasPython)(
    "[L13] the Python verifier reads a live export with large and erased payloads",
    () => {
      const { log } = openNodeLog<TestEvents>(CATALOGUE);
      for (const text of ["a", "漢".repeat(200_000), "\ud800", "gone"])
        log.append([{ type: "note.added", payload: { text } }], { at: 1 });
      log.erase([4]);
      const text = `${[...exportLog(log)].join("\n")}\n`;
      const line = `ok log=${log.logId} events=4 erased=1 head=4:${log.head().hash}`;
      expect(runOurs(text)).toBe(line);
      expect(runPython(text)).toEqual({ lines: [line], status: 0 });
    },
  );
});

describe("tampered exports", () => {
  const header = (seq: number): string =>
    (JSON.parse(golden.split("\n")[seq] ?? "") as Line).header;
  const cases: readonly (readonly [string, () => string, string])[] = [
    [
      "a bit of a header",
      () => edit(3, (line) => ({ header: line.header.replace("acme", "acmd") })),
      "bad seq=3 reason=hash_mismatch",
    ],
    [
      "a bit of a hash",
      () =>
        edit(2, (line) => ({
          hash: line.hash.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
        })),
      "bad seq=2 reason=hash_mismatch",
    ],
    [
      "a bit of a payload",
      () => edit(5, (line) => ({ payload: flipBit(line.payload) })),
      "bad seq=5 reason=payload_mismatch",
    ],
    [
      "a bit of a salt",
      () => edit(1, (line) => ({ salt: flipBit(line.salt) })),
      "bad seq=1 reason=payload_mismatch",
    ],
    [
      "a byte moved from payload to salt",
      () => edit(1, (line) => moveByte(line)),
      "bad seq=1 reason=payload_mismatch",
    ],
    [
      "two events in the other order",
      () => tamper((lines) => lines.with(1, lines[2] as Line).with(2, lines[1] as Line)),
      "bad seq=2 reason=seq_unexpected",
    ],
    [
      "an event deleted from the middle",
      () => tamper((lines) => lines.toSpliced(2, 1)),
      "bad seq=3 reason=seq_unexpected",
    ],
    [
      "an event twice",
      () => tamper((lines) => lines.toSpliced(2, 0, lines[1] as Line)),
      "bad seq=3 reason=seq_unexpected",
    ],
    [
      "the first event deleted",
      () => tamper((lines) => lines.slice(1)),
      "bad seq=1 reason=seq_unexpected",
    ],
    [
      "the tail cut off",
      () => tamper((lines) => lines.slice(0, 4)),
      "bad seq=5 reason=head_mismatch",
    ],
    ["all events cut off", () => tamper(() => []), "bad seq=1 reason=head_mismatch"],
    ["payloads of two events swapped", () => swapPayloads(), "bad seq=1 reason=payload_mismatch"],
    [
      "a payload erased without its salt",
      () => edit(2, () => ({ payload: null })),
      "bad seq=2 reason=payload_incomplete",
    ],
    [
      "a salt erased without its payload",
      () => edit(2, () => ({ salt: null })),
      "bad seq=2 reason=payload_incomplete",
    ],
    [
      "a payload put in for an erased one",
      () => edit(4, () => ({ salt: "AAAA", payload: "AAAA" })),
      "bad seq=4 reason=payload_mismatch",
    ],
    [
      "a rewritten event with a fitting hash",
      () => edit(2, (line) => rehash(line.header.replace('"step":1', '"step":7'))),
      "bad seq=3 reason=prev_mismatch",
    ],
    [
      "a rewritten newest event with a fitting hash",
      () => edit(6, (line) => rehash(line.header.replace("lease_1", "lease_2"))),
      "bad seq=6 reason=head_mismatch",
    ],
    [
      "a renumbered event",
      () => edit(3, () => rehash(header(3).replace('"seq":3', '"seq":4'))),
      "bad seq=3 reason=seq_mismatch",
    ],
    [
      "an event of another log",
      () => edit(2, () => rehash(header(2).replace("log_golden", "log_other"))),
      "bad seq=2 reason=log_mismatch",
    ],
    [
      "a header that is not JSON",
      () => edit(2, () => rehash("{}}")),
      "bad seq=2 reason=header_invalid",
    ],
    [
      "a header without a payload descriptor",
      () => edit(2, () => rehash('{"seq":2}')),
      "bad seq=2 reason=header_invalid",
    ],
    [
      "a header with a lone surrogate",
      () => edit(2, () => ({ header: "\ud800" })),
      "bad seq=2 reason=hash_mismatch",
    ],
    [
      "a line that is not JSON",
      () => tamper((lines) => [...lines.slice(0, 3), "{", ...lines.slice(4)]),
      "bad seq=4 reason=line_invalid",
    ],
    ["a blank line", () => tamper((lines) => [...lines, ""]), "bad seq=7 reason=line_invalid"],
    [
      "a payload that is not base64",
      () => edit(2, () => ({ payload: "AA A" })),
      "bad seq=2 reason=line_invalid",
    ],
    [
      "a payload field left out",
      () => edit(2, () => ({ payload: undefined as never })),
      "bad seq=2 reason=line_invalid",
    ],
    [
      "no manifest",
      () => golden.slice(golden.indexOf("\n") + 1),
      "bad seq=0 reason=manifest_invalid",
    ],
    [
      "another format",
      () => golden.replace("holdfast-log/1", "holdfast-log/2"),
      "bad seq=0 reason=manifest_invalid",
    ],
    ["nothing at all", () => "", "bad seq=0 reason=manifest_invalid"],
  ];
  let python: ReadonlyMap<string, string> = new Map();

  beforeAll(() => {
    if (!hasPython) return;
    const { lines, status } = runPython(...cases.map(([, build]) => build()));
    expect([lines.length, status]).toEqual([cases.length, 1]);
    python = new Map(cases.map(([what], index) => [what, lines[index] ?? ""]));
  });

  test.each(cases)("[L13] both verifiers name the first bad event: %s", (what, build, line) => {
    expect(runOurs(build())).toBe(line);
    if (hasPython) expect(python.get(what)).toBe(line);
  });

  test("[L13] erasing any single payload changes no verdict", () => {
    const texts = [1, 2, 3, 5, 6].map((seq) => edit(seq, () => ({ salt: null, payload: null })));
    const line = runOurs(golden).replace("erased=1", "erased=2");
    expect(texts.map(runOurs)).toEqual(texts.map(() => line));
    if (hasPython) expect(runPython(...texts)).toEqual({ lines: texts.map(() => line), status: 0 });
  });
});

function moveByte(line: Line): Partial<Line> {
  const salt = Buffer.from(line.salt ?? "", "base64");
  const payload = Buffer.from(line.payload ?? "", "base64");
  return {
    salt: Buffer.concat([salt, payload.subarray(0, 1)]).toString("base64"),
    payload: payload.subarray(1).toString("base64"),
  };
}

function swapPayloads(): string {
  return tamper((lines) => {
    const [first, second] = lines as [Line, Line];
    return lines
      .with(0, { ...first, salt: second.salt, payload: second.payload })
      .with(1, { ...second, salt: first.salt, payload: first.payload });
  });
}
