/** Wall time, CPU time, rows and bytes of a run, on new threads and on threads with a long past. */
import { Chat } from "./client.mjs";
import {
  CONTENDERS,
  OURS,
  STEPS,
  each,
  median,
  order,
  pause,
  range,
  round,
  script,
  sum,
} from "./contenders.mjs";

/** What a contender does after its last frame belongs to its run. */
const SETTLE_MS = 150;
const EARLIER_RUNS = 200;
const PREFILL_SLICE = 20;

/** Runs of `changes` on new threads, the contenders taking turns. */
export async function measureFresh(server, label, { rounds, ...changes }) {
  const runs = each(() => []);
  for (const index of range(rounds))
    for (const contender of order(index)) {
      const chat = await open(server, contender, `${label}-${index}`);
      runs[contender].push(await timed(server, chat, script(changes)));
      chat.close();
    }
  return each((name) => summary(runs[name]));
}

/** The same on one thread of each contender that has 4,000 steps behind it. */
export async function measureDeep(server, { rounds, ...changes }) {
  for (const contender of CONTENDERS) await prefill(server, contender, "deep");
  const runs = each(() => []);
  const connect = each(() => 0);
  for (const index of range(rounds))
    for (const contender of order(index)) {
      const chat = await open(server, contender, "deep");
      connect[contender] = chat.bytes.received;
      await pause(SETTLE_MS);
      runs[contender].push(await timed(server, chat, script(changes)));
      chat.close();
    }
  return each((name) => ({ ...summary(runs[name]), connectBytes: connect[name] }));
}

/** Rows of one run, on a new thread and on the same thread again. Counted apart, because counting costs time. */
export async function measureRows(server, label, changes) {
  const counted = {};
  for (const contender of CONTENDERS) {
    const chat = await open(server, contender, `${label}-rows`);
    await pause(SETTLE_MS);
    const first = await countedRun(server, chat, script(changes));
    const second = await countedRun(server, chat, script(changes));
    chat.close();
    counted[contender] = {
      first: first.rows,
      second: second.rows,
      alarms: second.alarms,
      keys: second.keys,
      statements: second.statements,
    };
  }
  return counted;
}

async function countedRun(server, chat, run) {
  await server.get("count");
  await checked(chat, run);
  // Outbox and clean-up of a contender may come seconds later, and are rows all the same.
  await pause(2_500);
  return JSON.parse(await server.get("counted"));
}

export async function open(server, contender, thread) {
  const chat = new Chat({ port: server.port, contender, thread });
  await chat.ready();
  return chat;
}

async function timed(server, chat, run) {
  const before = server.cpu();
  const startedAt = performance.now();
  await checked(chat, run);
  const ms = performance.now() - startedAt;
  await pause(SETTLE_MS);
  const after = server.cpu();
  const { sent, received, frames } = chat.bytes;
  return { ms, cpu: before === null ? null : after - before, sent, received, frames };
}

/** A contender that did not do the work is not quick. */
export async function checked(chat, run) {
  const outcome = await chat.run(run);
  const wanted = run.words * run.steps + 4;
  const words = chat.text.split(" ").length;
  if (outcome !== "done" || chat.results !== run.steps || words !== wanted)
    throw new Error(`a run ended as ${outcome} with ${chat.results} results and ${words} words`);
}

function summary(runs) {
  const all = (kind) => runs.map((run) => run[kind]);
  return {
    ms: round(median(all("ms")), 1),
    quickestMs: round(Math.min(...all("ms")), 1),
    cpuMs: all("cpu").includes(null) ? null : round(sum(all("cpu")) / runs.length, 1),
    sentBytes: median(all("sent")),
    receivedBytes: median(all("received")),
    frames: median(all("frames")),
  };
}

/**
 * Ours runs its earlier runs; a peer is given them by its own method for that, as copies of what it kept of a real one,
 * because running them would take it minutes.
 */
async function prefill(server, contender, thread) {
  const chat = await open(server, contender, thread);
  if (contender === OURS) {
    for (const _ of range(EARLIER_RUNS)) await checked(chat, script());
    chat.close();
    return;
  }
  await checked(chat, script());
  chat.close();
  const kept = JSON.parse(await server.get(`shown/${contender}/${thread}`));
  const copies = range(EARLIER_RUNS - 1).map((index) =>
    kept.map((message) => copyOf(message, index)),
  );
  for (let at = 0; at < copies.length; at += PREFILL_SLICE)
    await server.get(`prefill/${contender}/${thread}`, copies.slice(at, at + PREFILL_SLICE).flat());
  const now = JSON.parse(await server.get(`shown/${contender}/${thread}`));
  const steps = sum(
    now.map(({ parts }) => parts.filter(({ type }) => type === "tool-tick").length),
  );
  if (steps !== EARLIER_RUNS * STEPS) throw new Error(`${contender} holds ${steps} earlier steps`);
}

function copyOf(message, index) {
  const text = JSON.stringify(message)
    .replaceAll(
      /call_[0-9a-f-]{36}/g,
      (id) => `${id.slice(0, -4)}${String(index).padStart(4, "0")}`,
    )
    .replaceAll(/(?<="id":")[^"]+/g, (id) => `${id}-${index}`);
  return JSON.parse(text);
}
