/** Compares a run with those of the peers, all in one workerd, over the socket protocol they share. See README.md. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CONTENDERS, round } from "./peers/contenders.mjs";
import { measureKills } from "./peers/measure-kills.mjs";
import { measureMemory } from "./peers/measure-memory.mjs";
import { measureDeep, measureFresh, measureRows } from "./peers/measure-runs.mjs";
import { BenchServer } from "./peers/server.mjs";
import { table } from "./peers/table.mjs";

const PARTS = ["fresh", "rows", "deep", "kills", "memory"];
const { values } = parseArgs({
  options: {
    script: { type: "string" },
    rounds: { type: "string", default: "15" },
    only: { type: "string", default: PARTS.join(",") },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const only = new Set(values.only.split(","));
const TALK = { words: 10 };

function git(...args) {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}

function versionOf(name) {
  for (const folder of [import.meta.dirname, join(import.meta.dirname, "..")])
    try {
      return JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"))
        .version;
    } catch {
      // The other folder has it.
    }
  return "unknown";
}

async function measure(server) {
  const result = {};
  await measureFresh(server, "warm", { rounds: 2 });
  if (only.has("fresh")) {
    result.instant = await measureFresh(server, "instant", { rounds });
    result.tenMs = await measureFresh(server, "ten", { rounds, pauseMs: 10 });
    result.talking = await measureFresh(server, "talk", { rounds, ...TALK });
  }
  if (only.has("rows")) {
    result.rows = {
      instant: await measureRows(server, "instant", {}),
      tenMs: await measureRows(server, "ten", { pauseMs: 10 }),
      talking: await measureRows(server, "talk", TALK),
    };
  }
  if (only.has("deep")) {
    result.deep = await measureDeep(server, { rounds });
  }
  if (only.has("kills")) result.kills = await measureKills(server, { rounds: Math.min(rounds, 7) });
  return result;
}

const head = {
  date: new Date().toISOString(),
  commit: git("rev-parse", "--short", "HEAD"),
  clean: git("status", "--porcelain", "--", "src", "durable-objects", "bench") === "",
  machine: {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  },
  versions: Object.fromEntries(
    ["@cloudflare/ai-chat", "@cloudflare/think", "agents", "ai", "miniflare", "workerd"].map(
      (name) => [name, versionOf(name)],
    ),
  ),
  contenders: CONTENDERS,
  rounds,
  loadBefore: round(loadavg()[0], 1),
};
const server = await BenchServer.start(values.script);
let result;
try {
  result = { ...head, ...(await measure(server)) };
} finally {
  await server.dispose();
}
if (only.has("memory")) result.memory = await measureMemory(values.script);
result.loadAfter = round(loadavg()[0], 1);
process.stdout.write(`${table(result).join("\n")}\n`);
if (values.save) {
  const folder = join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.date.slice(0, 10)}-${result.commit}-peers.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`saved ${file}\n`);
}
