/** Resident memory of workerd: idle sockets on one thread, and many threads. Each contender has a process of its own. */
import { BenchServer } from "./server.mjs";
import { CONTENDERS, pause, range, round, script } from "./contenders.mjs";
import { checked, open } from "./measure-runs.mjs";

const SOCKETS = 100;
const THREADS = 1_000;
const BATCH = 50;
/** Idle objects hibernate after ten seconds. */
const HIBERNATE_MS = 15_000;

export async function measureMemory(scriptPath) {
  const results = {};
  for (const contender of CONTENDERS) results[contender] = await memoryOf(scriptPath, contender);
  return results;
}

async function memoryOf(scriptPath, contender) {
  const server = await BenchServer.start(scriptPath);
  try {
    const warm = await open(server, contender, "warm");
    await checked(warm, script());
    warm.close();
    await pause(1_000);
    const base = server.memory();
    if (base === null) return null;
    const above = () => round(server.memory() - base, 1);
    const sockets = await inBatches(SOCKETS, () => open(server, contender, "one"));
    const socketsOpen = above();
    await pause(HIBERNATE_MS);
    const socketsIdle = above();
    for (const socket of sockets) socket.close();
    const threads = await inBatches(THREADS, (index) => open(server, contender, `t-${index}`));
    const threadsOpen = above();
    await pause(HIBERNATE_MS);
    const threadsIdle = above();
    for (const thread of threads) thread.close();
    await pause(HIBERNATE_MS);
    return {
      baseMiB: round(base, 1),
      socketsOpen,
      socketsIdle,
      threadsOpen,
      threadsIdle,
      threadsClosed: above(),
    };
  } finally {
    await server.dispose();
  }
}

async function inBatches(count, work) {
  const done = [];
  for (let at = 0; at < count; at += BATCH)
    done.push(...(await Promise.all(range(Math.min(BATCH, count - at)).map((i) => work(at + i)))));
  return done;
}
