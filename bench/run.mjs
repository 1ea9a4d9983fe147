/**
 * Runs the bench build in workerd and measures it from outside: wall time by the object's own marks, CPU time of the workerd
 * process. Thread and floor take turns, so that a machine that is slow for a while is slow for both; what counts is a ratio.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const { values } = parseArgs({
  options: {
    script: { type: "string" },
    rounds: { type: "string", default: "5" },
    steps: { type: "string", default: "2000" },
    save: { type: "boolean", default: false },
    /** Only the named part: `hooks`. */
    only: { type: "string", default: "" },
  },
});
const ROUNDS = Number(values.rounds);
const STEPS = Number(values.steps);
const TICK_MS = 10;

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const round = (value, digits = 3) => Number(value.toFixed(digits));
const range = (count) => Array.from({ length: count }, (_, index) => index);

async function withBench(work) {
  const state = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const object = (className) => ({ className, useSQLite: true });
  const options = {
    modules: true,
    scriptPath: values.script,
    host: "127.0.0.1",
    port: 0,
    cf: false,
    logRequests: false,
    compatibilityDate: "2026-11-01",
    compatibilityFlags: ["nodejs_compat"],
    durableObjects: {
      AGENT: object("AgentObject"),
      FLOOR: object("FloorObject"),
      LEDGER: object("LedgerObject"),
    },
    resourcePersistencePath: state,
  };
  const miniflare = new Miniflare(convertV4MiniflareOptions(options));
  try {
    const url = await miniflare.ready;
    return await work(async (path) => {
      const response = await fetch(new URL(path, url));
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${text.slice(0, 500)}`);
      return JSON.parse(text);
    });
  } finally {
    await miniflare.dispose();
    rmSync(state, { recursive: true, force: true });
  }
}

/** User and system time of our workerd, in milliseconds; null where there is no /proc. */
function cpuTime() {
  try {
    const isOurs = (pid) =>
      statOf(pid)[1] === String(process.pid) &&
      readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workerd");
    const pid = readdirSync("/proc").find(
      (name) => /^\d+$/.test(name) && safely(() => isOurs(name)),
    );
    const stat = statOf(pid);
    return (Number(stat[11]) + Number(stat[12])) * TICK_MS;
  } catch {
    return null;
  }
}

/** Fields of /proc/PID/stat from the state on; the name before it may hold spaces. */
function statOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
}

function safely(read) {
  try {
    return read();
  } catch {
    return false;
  }
}

async function timed(get, path, steps) {
  const before = cpuTime();
  const { marks, status, rows } = await get(path);
  const after = cpuTime();
  if (status !== undefined && status !== "completed") throw new Error(`${path} ended as ${status}`);
  if (marks.length <= steps) throw new Error(`${path} ended after ${marks.length - 1} steps`);
  const cpu = before === null || after === null ? null : (after - before) / steps;
  return { marks, rows, wall: (marks[steps] - marks[0]) / steps, cpu };
}

/** Mean time of the steps from `from` to `to`. */
const span = (marks, from, to) => (marks[to] - marks[from]) / (to - from);

async function measureSteps(get, calls) {
  const pairs = [];
  for (const index of range(ROUNDS)) {
    const query = `steps=${STEPS}&calls=${calls}&thread=s${calls}-${index}`;
    const thread = await timed(get, `/thread?${query}`, STEPS);
    const floor = await timed(get, `/floor?${query}`, STEPS);
    pairs.push({ thread, floor });
  }
  const all = (side, kind) => pairs.map((pair) => pair[side][kind]);
  const hasCpu = !all("thread", "cpu").includes(null);
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  const ratios = pairs.map(({ thread, floor }) => thread.wall / floor.wall);
  const mean = (list) => round(sum(list) / list.length);
  const flatness = (side) => {
    const quickest = (from, to) =>
      Math.min(...pairs.map((pair) => span(pair[side].marks, from, to)));
    return round(quickest(STEPS - 100, STEPS) / quickest(10, 110), 2);
  };
  return {
    calls,
    threadMs: round(median(all("thread", "wall"))),
    floorMs: round(median(all("floor", "wall"))),
    wallRatio: round(median(ratios), 2),
    /** Of the quickest rounds: what is left when nothing else ran. */
    quickestThreadMs: round(Math.min(...all("thread", "wall"))),
    quickestFloorMs: round(Math.min(...all("floor", "wall"))),
    quickestRatio: round(Math.min(...all("thread", "wall")) / Math.min(...all("floor", "wall")), 2),
    threadCpuMs: hasCpu ? mean(all("thread", "cpu")) : null,
    floorCpuMs: hasCpu ? mean(all("floor", "cpu")) : null,
    cpuRatio: hasCpu ? round(sum(all("thread", "cpu")) / sum(all("floor", "cpu")), 2) : null,
    flatness: flatness("thread"),
    /** What the database alone grows dearer by: the floor keeps nothing but its rows. */
    floorFlatness: flatness("floor"),
  };
}

/** Loop guard and a ledger's lease against neither, in turns: what accounting costs a step. */
async function measureHooks(get, calls) {
  const pairs = [];
  for (const index of range(ROUNDS)) {
    const of = (kind) => `/thread?steps=${STEPS}&calls=${calls}&thread=${kind}-${calls}-${index}`;
    const first = index % 2 === 0 ? "bare" : "full";
    const second = first === "bare" ? "full" : "bare";
    const one = await timed(get, of(first), STEPS);
    const two = await timed(get, of(second), STEPS);
    pairs.push({ [first]: one, [second]: two });
  }
  const all = (side, kind) => pairs.map((pair) => pair[side][kind]);
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  const quickest = (side) => Math.min(...all(side, "wall"));
  const hasCpu = !all("full", "cpu").includes(null);
  return {
    calls,
    fullMs: round(quickest("full")),
    bareMs: round(quickest("bare")),
    wallRatio: round(quickest("full") / quickest("bare"), 2),
    medianRatio: round(median(pairs.map(({ full, bare }) => full.wall / bare.wall)), 2),
    cpuRatio: hasCpu ? round(sum(all("full", "cpu")) / sum(all("bare", "cpu")), 2) : null,
  };
}

/** What a run writes beside its steps falls out of the difference of two runs. */
async function measureRows(get, calls) {
  const short = await get(`/thread?steps=20&calls=${calls}&thread=r${calls}-20`);
  const long = await get(`/thread?steps=40&calls=${calls}&thread=r${calls}-40`);
  return { calls, rowsPerStep: (long.rows - short.rows) / 20, limit: 2 * (1 + calls) + 2 };
}

async function measureOpen(get) {
  await get("/thread?steps=24&thread=o100");
  await get("/thread?steps=2499&thread=o10000");
  const rounds = [];
  for (const _ of range(2 * ROUNDS)) {
    const short = await get("/open?thread=o100&times=100");
    const long = await get("/open?thread=o10000&times=100");
    rounds.push({ short: short.ms, long: long.ms });
  }
  const quickest = (side) => Math.min(...rounds.map((times) => times[side]));
  return {
    ms100: round(quickest("short")),
    ms10000: round(quickest("long")),
    ratio: round(quickest("long") / quickest("short"), 2),
  };
}

async function measureFirstText(get) {
  const lists = await get("/first-text?times=30&thread=f");
  const of = (name) => round(median(lists[name]), 1);
  return {
    throughMs: of("through"),
    directMs: of("direct"),
    addedMs: round(of("through") - of("direct"), 1),
    calledMs: of("called"),
    durableMs: of("durable"),
  };
}

function git(...args) {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}

function table(result) {
  const rows = [
    ["", "measured", "aim"],
    ...result.steps.flatMap(({ calls, ...step }) => [
      [
        `step with ${calls} call(s), thread : floor, median`,
        `${step.threadMs} : ${step.floorMs} ms = ${step.wallRatio}`,
        "<= 2",
      ],
      [
        "  of the quickest rounds",
        `${step.quickestThreadMs} : ${step.quickestFloorMs} ms = ${step.quickestRatio}`,
        "",
      ],
      [
        `step with ${calls} call(s), thread : floor, CPU`,
        `${step.threadCpuMs} : ${step.floorCpuMs} ms = ${step.cpuRatio}`,
        "<= 2",
      ],
      [
        `last 100 of ${STEPS} steps : steps 10 to 110, ${calls} call(s)`,
        `${step.flatness}, of the floor ${step.floorFlatness}`,
        "<= 1.2",
      ],
    ]),
    ...result.hooks.map(({ calls, fullMs, bareMs, wallRatio, medianRatio, cpuRatio }) => [
      `loop guard and ledger, step with ${calls} call(s): with : without`,
      `${fullMs} : ${bareMs} ms = ${wallRatio}, median ${medianRatio}, CPU ${cpuRatio}`,
      "<= 1.1",
    ]),
    ...result.rows.map(({ calls, rowsPerStep, limit }) => [
      `rows of a step with ${calls} call(s)`,
      `${rowsPerStep}`,
      `<= ${limit}`,
    ]),
    [
      "first text, through a thread - port called directly",
      `${result.firstText.throughMs} - ${result.firstText.directMs} = ${result.firstText.addedMs} ms`,
      "<= 10",
    ],
    ["  of it until the model is called", `${result.firstText.calledMs} ms`, ""],
    ["  one durable answer of the floor, for the disk", `${result.firstText.durableMs} ms`, ""],
    [
      "opening 10,000 events : 100 events",
      `${result.open.ms10000} : ${result.open.ms100} ms = ${result.open.ratio}`,
      "<= 1.5",
    ],
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
}

if (values.only === "hooks") {
  const hooks = await withBench(async (get) => {
    await get("/thread?steps=500&thread=bare-warm");
    await get("/thread?steps=500&thread=full-warm");
    return [await measureHooks(get, 1), await measureHooks(get, 3)];
  });
  process.stdout.write(`${JSON.stringify(hooks, null, 2)}\n`);
  process.exit(0);
}
const result = await withBench(async (get) => {
  await get("/thread?steps=500&thread=warm");
  await get("/floor?steps=500&thread=warm");
  return {
    date: new Date().toISOString(),
    commit: git("rev-parse", "--short", "HEAD"),
    clean: git("status", "--porcelain", "--", "src", "durable-objects", "bench/*.ts") === "",
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      platform: `${process.platform} ${process.arch}`,
      node: process.version,
    },
    loadBefore: round(loadavg()[0], 1),
    rounds: ROUNDS,
    stepsPerRound: STEPS,
    steps: [await measureSteps(get, 1), await measureSteps(get, 3)],
    hooks: [await measureHooks(get, 1), await measureHooks(get, 3)],
    rows: [await measureRows(get, 1), await measureRows(get, 3)],
    firstText: await measureFirstText(get),
    open: await measureOpen(get),
  };
});
result.loadAfter = round(loadavg()[0], 1);
const { machine } = result;
process.stdout.write(
  `${machine.cores} x ${machine.cpu}, ${machine.platform}, load ${result.loadBefore} to ${result.loadAfter}; commit ${result.commit}${result.clean ? "" : " and changes"}\n${table(result).join("\n")}\n`,
);
if (values.save) {
  const folder = join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.date.slice(0, 10)}-${result.commit}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`saved ${file}\n`);
}
