/**
 * One local server on one state directory. Owns its child processes: it records them, so that a later start can end what
 * a killed one left behind, since two servers on one directory would corrupt each other's work.
 */
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readJson, writeJson } from "./dev-state.mjs";
import { endTree, killAll, processTree, signalAll, stillRunning } from "./processes.mjs";
import { ROOT, toolEnv } from "./project.mjs";

const READY_DEADLINE_MS = 90_000;
const POLL_MS = 100;
/** Lines of wrangler that tell a user nothing. */
const NOISE =
  /Unable to fetch the `Request\.cf` object|^\s*$|TypeError: fetch failed|GET \/healthz/;

/** Ends what a killed server left; null when there is nothing, the URL when a server is alive and well. */
export async function leftover(state) {
  const record = readJson(state.server);
  if (record === null) return null;
  const alive = stillRunning(record.processes);
  if (stillRunning([record.owner]).length > 0 && alive.length > 0) return record.url;
  const orphans = alive.flatMap(({ pid }) => processTree(pid));
  await killAll(orphans);
  return null;
}

export async function isHealthy(url, stop = []) {
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(2000), ...stop]);
    const response = await fetch(`${url}/healthz`, { signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/**
 * @param {{ state: ReturnType<typeof import("./dev-state.mjs").devState>, config: string, port: number, main?: string | undefined, onLine?: (line: string) => void, vars?: readonly string[], signal?: AbortSignal }} options
 *
 * Starts `wrangler dev` and resolves once it answers. `onLine` gets its lines without noise; all of them go to the log.
 * Throws with the last output when it ends before that. `signal` kills it while it starts, as `kill` does later.
 */
export async function startServer({
  state,
  config,
  port,
  main,
  onLine = () => {},
  vars = [],
  signal,
}) {
  const url = `http://127.0.0.1:${port}`;
  const entry = main === undefined ? [] : [main];
  const args = [
    "dev",
    ...entry,
    "-c",
    config,
    "--port",
    String(port),
    "--persist-to",
    state.storage,
  ];
  args.push("--env-file", state.env, "--env-file", state.modelEnv);
  args.push("--show-interactive-dev-session=false");
  // Of the debugger. By default wrangler looks for a free port and binds it seconds later, so that of two servers which
  // start at the same moment one ends. With 0 the system chooses when it binds.
  args.push("--inspector-port", "0");
  for (const pair of vars) args.push("--var", pair);
  // A group of its own: Ctrl-C reaches this process only, which then ends the tree in order.
  const child = spawn("wrangler", args, {
    cwd: ROOT,
    env: toolEnv({ FORCE_COLOR: "0" }),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const log = createWriteStream(state.log, { flags: "a", mode: 0o600 });
  const recent = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text) => {
      log.write(text);
      for (const line of text.split("\n")) {
        if (NOISE.test(line)) continue;
        recent.push(line);
        if (recent.length > 60) recent.shift();
        onLine(line);
      }
    });
  }
  const exited = new Promise((settle) => child.once("exit", settle));
  let ended = false;
  void exited.then(() => (ended = true));
  child.once("error", (error) => recent.push(String(error)));

  const until = Date.now() + READY_DEADLINE_MS;
  while (!(await isHealthy(url, signal === undefined ? [] : [signal]))) {
    if (signal?.aborted) await kill(child.pid, processTree(child.pid));
    if (ended || signal?.aborted || Date.now() > until) {
      if (!ended) await killAll(processTree(child.pid));
      const why = ended ? "ended before it answered" : "did not answer in time";
      throw new Error(`The server ${why}.\n${recent.join("\n")}`);
    }
    await sleep(POLL_MS);
  }
  const [owner] = processTree(process.pid);
  const processes = processTree(child.pid);
  writeJson(state.server, { url, owner, processes });
  return {
    url,
    exited,
    pid: child.pid,
    stop: () => endTree(child.pid),
    kill: () => kill(child.pid, processes),
  };
}

/**
 * As power loss of the process: all of it at once, with no chance to finish anything. The group goes first, because
 * looking up the tree takes longer than many a moment that a test wants to kill in.
 */
function kill(pid, processes) {
  signalAll([{ pid: -pid }], "SIGKILL");
  return killAll(stillRunning(processes));
}
