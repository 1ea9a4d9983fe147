/** `npm run crash`: SIGKILL to the local server and all its processes, by their recorded ids. For the crash demonstration. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { devState, readJson } from "./lib/dev-state.mjs";
import { killAll, processTree, stillRunning } from "./lib/processes.mjs";
import { ROOT, say } from "./lib/project.mjs";

const { values } = parseArgs({ options: { state: { type: "string", default: ".holdfast" } } });
const record = readJson(devState(resolve(ROOT, values.state)).server);
const alive = record === null ? [] : stillRunning([record.owner, ...record.processes]);
if (alive.length === 0) {
  say("No server of this directory runs.");
  process.exit(1);
}
const tree = alive.flatMap(({ pid }) => processTree(pid));
await killAll(tree);
say(
  `Killed ${new Set(tree.map(({ pid }) => pid)).size} processes. Run npm start to see the work go on.`,
);
