/**
 * The processes of one server. wrangler starts workerd and esbuild as children, and killing the top process alone leaves
 * them holding the port and the state directory. So a tree is collected first and ended by process id, never by name or
 * port. A recorded id is trusted only together with its start time, because ids are used again.
 */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

function table() {
  const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,lstart="], { encoding: "utf8" });
  return text
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line))
    .filter((match) => match !== null && !match[3].startsWith("Z"))
    .map(([, pid, parent, , started]) => ({
      pid: Number(pid),
      parent: Number(parent),
      started: started.trim(),
    }));
}

/** `{ pid, started }` of the process and all its descendants, the root first. */
export function processTree(root) {
  const all = table();
  const tree = all.filter((entry) => entry.pid === root);
  for (let at = 0; at < tree.length; at += 1) {
    tree.push(...all.filter((entry) => entry.parent === tree[at].pid));
  }
  return tree.map(({ pid, started }) => ({ pid, started }));
}

/** Those of `recorded` that still run and are the same processes. */
export function stillRunning(recorded) {
  const now = new Map(table().map((entry) => [entry.pid, entry.started]));
  return recorded.filter((entry) => now.get(entry.pid) === entry.started);
}

export function signalAll(processes, signal) {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

/** SIGKILL for all at once, then waits until none is left. */
export async function killAll(processes, deadlineMs = 5000) {
  signalAll(processes, "SIGKILL");
  const until = Date.now() + deadlineMs;
  while (stillRunning(processes).length > 0) {
    if (Date.now() > until) throw new Error("processes survived SIGKILL");
    await sleep(20);
  }
}

/** Asks the root to end, then kills what is left after the grace time. */
export async function endTree(root, graceMs = 5000) {
  const tree = processTree(root);
  signalAll(tree.slice(0, 1), "SIGTERM");
  const until = Date.now() + graceMs;
  while (stillRunning(tree).length > 0 && Date.now() < until) await sleep(50);
  await killAll(stillRunning(tree));
}
