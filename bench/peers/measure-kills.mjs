/** SIGKILL in step 10 with a client waiting: how soon it goes on, and what was paid and done twice. */
import { createServer } from "node:http";
import { Chat } from "./client.mjs";
import { each, median, order, pause, range, round, script, STEPS } from "./contenders.mjs";

const KILL_AT = 10;
/** A step long enough for a contender to keep the first half of its text. */
const WORDS = 30;
const LOST_AFTER_MS = 60_000;
const LAST_FRAME_MS = 5_000;

export async function measureKills(server, { rounds }) {
  const desk = await ReportDesk.open();
  const results = {};
  try {
    for (const where of ["tool", "text"]) {
      const runs = each(() => []);
      for (const index of range(rounds))
        for (const contender of order(index))
          runs[contender].push(await killed({ server, desk, contender, where, index }));
      results[where] = each((name) => summary(runs[name]));
    }
  } finally {
    desk.close();
  }
  return results;
}

async function killed({ server, desk, contender, where, index }) {
  const thread = `kill-${where}-${index}`;
  const chat = new Chat({ port: server.port, contender, thread });
  await chat.ready();
  const report = desk.begin(`${contender}-${thread}`, where);
  const ended = chat.run(
    script({
      report,
      words: where === "text" ? WORDS : 0,
      holdTextAt: where === "text" ? KILL_AT : null,
    }),
  );
  ended.catch(() => undefined);
  await desk.held;
  server.kill();
  await server.discard();
  const upAt = isUp(server);
  await server.up();
  const startedAt = await upAt;
  const isOver = await Promise.race([desk.last.then(() => true), pause(LOST_AFTER_MS)]);
  const wentOnMs = desk.wentOnAt === null ? null : desk.wentOnAt - startedAt;
  if (isOver !== true) {
    chat.close();
    return {
      lost: true,
      wentOnMs,
      models: desk.count("model"),
      tools: desk.count("tool"),
      doubled: null,
    };
  }
  const sawEnd = await Promise.race([
    ended.then(
      () => true,
      () => false,
    ),
    pause(LAST_FRAME_MS),
  ]);
  await pause(300);
  chat.close();
  const shown = JSON.parse(await server.get(`shown/${contender}/${thread}`));
  const text = JSON.stringify(shown);
  return {
    lost: false,
    wentOnMs,
    sawEnd: sawEnd === true,
    models: desk.count("model"),
    tools: desk.count("tool"),
    stepTools: desk.count("tool", KILL_AT),
    doubled: where === "text" ? text.split(`s${KILL_AT}w1 `).length - 1 > 1 : null,
    told: /"errorText":"([^"]*)"/.exec(text)?.[1] ?? null,
  };
}

/** First answer over HTTP, while the server is starting. */
async function isUp(server) {
  for (;;) {
    try {
      await server.get("up");
      return performance.now();
    } catch {
      await pause(5);
    }
  }
}

function summary(runs) {
  const kept = runs.filter(({ lost }) => !lost);
  const all = (kind) => kept.map((run) => run[kind]);
  const wentOn = runs.map(({ wentOnMs }) => wentOnMs).filter((ms) => ms !== null);
  return {
    kills: runs.length,
    lost: runs.length - kept.length,
    wentOnMs: wentOn.length === 0 ? null : round(median(wentOn)),
    slowestMs: wentOn.length === 0 ? null : round(Math.max(...wentOn)),
    modelCalls: kept.length === 0 ? null : median(all("models")),
    toolRuns: kept.length === 0 ? null : median(all("tools")),
    toolRunsOfStep: kept.length === 0 ? null : median(all("stepTools")),
    doubledText: all("doubled").filter((doubled) => doubled === true).length,
    clientSawEnd: all("sawEnd").filter(Boolean).length,
    modelWasTold: all("told").find((told) => told !== null) ?? null,
  };
}

/** Where models and tools report; holds what is to be killed, once. */
class ReportDesk {
  held;
  last;
  wentOnAt = null;
  #server;
  #thread = "";
  #where = "";
  #reports = [];
  #isHeld = false;
  #hold;
  #end;

  static open() {
    const desk = new ReportDesk();
    desk.#server = createServer((request, response) => desk.#take(request, response));
    return new Promise((resolve) => {
      desk.#server.listen(0, "127.0.0.1", () => resolve(desk));
    });
  }

  begin(thread, where) {
    this.#thread = thread;
    this.#where = where;
    this.#reports = [];
    this.#isHeld = false;
    this.wentOnAt = null;
    this.held = new Promise((resolve) => (this.#hold = resolve));
    this.last = new Promise((resolve) => (this.#end = resolve));
    return `http://127.0.0.1:${this.#server.address().port}/${thread}`;
  }

  count(what, step) {
    return this.#reports.filter(
      (report) => report.what === what && (step === undefined || report.step === step),
    ).length;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #take(request, response) {
    const url = new URL(request.url, "http://desk.invalid");
    if (url.pathname.slice(1) !== this.#thread) return response.end();
    const what = url.searchParams.get("what");
    const step = Number(url.searchParams.get("step"));
    this.#reports.push({ what, step });
    if (this.#isHeld) this.wentOnAt ??= performance.now();
    if (!this.#isHeld && what === this.#where && step === KILL_AT) {
      this.#isHeld = true;
      return this.#hold();
    }
    if (what === "model" && step === STEPS + 1) this.#end();
    return response.end();
  }
}
