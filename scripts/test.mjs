/**
 * `npm test`: every gate and suite, one line each, failures in full, and as its last line what all suites counted.
 * Exits non-zero when anything failed. Names of gates as arguments run only those. A gate that fails outside a test counts as one failure.
 */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureInstalled } from "./lib/install.mjs";
import { run, say } from "./lib/project.mjs";

const GATES = [
  { name: "format", command: ["oxfmt", "--check", "."] },
  { name: "lint", command: ["oxlint", "."] },
  { name: "types", command: ["tsc", "-p", "."] },
  { name: "page types", command: ["tsc", "-p", "web"] },
  { name: "dead code", command: ["knip"] },
  { name: "migrations list", command: ["node", "scripts/build-migrations.mjs", "--check"] },
  { name: "agents list", command: ["node", "scripts/build-agents.mjs", "--check"] },
  { name: "assets", command: ["node", "scripts/build-assets.mjs"] },
  { name: "node tests", project: "node" },
  { name: "workerd tests", project: "workers" },
  { name: "conformance", project: "conformance" },
  // Every round of the seeded suites that `npm test` plays the first of: minutes, by name only (`npm test -- deep`).
  {
    name: "deep",
    project: "node",
    files: ["crash/schedules", "property/valid-requests", "property/budget-fleet"],
    env: { HOLDFAST_DEEP: "1" },
    byName: true,
  },
  // Needs Chromium: `npm run test:browser` looks for it first.
  { name: "browser", project: "browser", byName: true },
  // Minutes of killed servers: by name only (`npm test -- sigkill`).
  { name: "sigkill", project: "sigkill", byName: true },
];
const ONLY = process.argv.slice(2);

const totals = { passed: 0, failed: 0, skipped: 0 };

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  } finally {
    rmSync(file, { force: true });
  }
}

async function runSuite({ project, files = [], env = {} }) {
  const file = join(tmpdir(), `holdfast-${process.pid}-${project}.json`);
  const report = ["--reporter=dot", "--reporter=json", `--outputFile.json=${file}`];
  const result = await run("vitest", ["run", "--project", project, ...files, ...report], {
    env: { NO_COLOR: "1", ...env },
  });
  const counted = readReport(file);
  const passed = counted?.numPassedTests ?? 0;
  const failed = counted?.numFailedTests ?? 0;
  const skipped = (counted?.numPendingTests ?? 0) + (counted?.numTodoTests ?? 0);
  totals.passed += passed;
  totals.failed += failed;
  totals.skipped += skipped;
  // An error outside any test, or a suite that ran nothing, must not look like success.
  const broken = result.code !== 0 || counted === null || passed === 0;
  if (broken && failed === 0) totals.failed += 1;
  return { ok: !broken, output: result.output, detail: `${passed} passed, ${failed} failed` };
}

async function runGate(gate) {
  if (gate.project !== undefined) return runSuite(gate);
  const [command, ...args] = gate.command;
  const result = await run(command, args, { env: { NO_COLOR: "1" } });
  if (result.code !== 0) totals.failed += 1;
  return { ok: result.code === 0, output: result.output, detail: "" };
}

await ensureInstalled();
const wanted = ({ name, byName = false }) => (ONLY.length === 0 ? !byName : ONLY.includes(name));
for (const gate of GATES.filter(wanted)) {
  const began = Date.now();
  const { ok, output, detail } = await runGate(gate);
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  say(`${ok ? "ok  " : "FAIL"}  ${gate.name.padEnd(14)} ${`${seconds} s`.padStart(8)}  ${detail}`);
  if (!ok) say(`\n${output.trim()}\n`);
}
const skipped = totals.skipped === 0 ? "" : `, ${totals.skipped} skipped`;
say(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exit(totals.failed === 0 ? 0 : 1);
