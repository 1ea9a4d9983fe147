/**
 * What a protocol costs beside REST/SSE, per event of the log, in one run of the bench; and what a hundred subscribers of a
 * long stream cost its run. See ../README.md.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CONTENDERS } from "./contenders.mjs";
import { measureFanOut } from "./fan-out.mjs";
import { startServer } from "./server.mjs";

const { values } = parseArgs({
  options: {
    script: { type: "string" },
    rounds: { type: "string", default: "5" },
    steps: { type: "string", default: "200" },
    events: { type: "string", default: "10000" },
    subscribers: { type: "string", default: "100" },
    save: { type: "boolean", default: false },
  },
});
const ROUNDS = Number(values.rounds);
const STEPS = Number(values.steps);
/** Asked, answered, started, finished; the last step has no tool, and a run begins and ends. */
const EVENTS_PER_RUN = 4 * STEPS + 5;

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const round = (value, digits = 3) => Number(value.toFixed(digits));
const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim();

async function timed(server, name, id) {
  const before = server.cpu();
  const startedAt = performance.now();
  await CONTENDERS[name](server, { thread: id, text: `steps ${STEPS} ${id}` });
  const wall = performance.now() - startedAt;
  return { wall, cpu: server.cpu() - before };
}

/** Contenders take turns, in another order each round, so that a slow minute hits all. */
async function measureProtocols(server) {
  const names = Object.keys(CONTENDERS);
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) await timed(server, name, `warm-${name}`);
  for (let index = 0; index < ROUNDS; index += 1)
    for (const at of names.keys()) {
      const name = names[(at + index) % names.length];
      found[name].push(await timed(server, name, `${name}-${index}`));
    }
  const per = (name, kind) => median(found[name].map((one) => one[kind])) / EVENTS_PER_RUN;
  return names.map((name) => ({
    name,
    wallMs: round(per(name, "wall")),
    cpuMs: round(per(name, "cpu")),
    wallRatio: round(per(name, "wall") / per("rest", "wall"), 2),
    cpuRatio: round(per(name, "cpu") / per("rest", "cpu"), 2),
  }));
}

const server = await startServer(values.script);
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
  loadBefore: round(loadavg()[0], 1),
};
let result;
try {
  result = {
    ...head,
    rounds: ROUNDS,
    eventsPerRun: EVENTS_PER_RUN,
    protocols: await measureProtocols(server),
    fanOut: await measureFanOut(server, {
      steps: Math.round(Number(values.events) / 4),
      subscribers: Number(values.subscribers),
    }),
    loadAfter: round(loadavg()[0], 1),
  };
} finally {
  await server.dispose();
}

const say = (line) => process.stdout.write(`${line}\n`);
const { machine, fanOut } = result;
say(
  `${machine.cores} x ${machine.cpu}, load ${result.loadBefore} to ${result.loadAfter}; commit ${result.commit}${result.clean ? "" : " and changes"}`,
);
for (const { name, wallMs, cpuMs, wallRatio, cpuRatio } of result.protocols)
  say(
    `${name.padEnd(10)} ${wallMs} ms an event, ${wallRatio} of REST/SSE; CPU ${cpuMs} ms, ${cpuRatio} (aim 1.5)`,
  );
for (const [name, value] of Object.entries(fanOut)) say(`${name.padEnd(24)} ${value}`);
if (values.save) {
  const folder = join(import.meta.dirname, "../results");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.date.slice(0, 10)}-${result.commit}-protocols.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  say(`saved ${file}`);
}
