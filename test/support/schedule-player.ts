/**
 * Plays a random schedule over a KernelDriver: messages, crashes, cancellations, failures, answers of every kind, late
 * work and branches; and lets the thread come to rest at its end.
 */
import fc from "fast-check";
import { BranchDriver, logOf } from "#test/support/branch-driver.ts";
import { type AnswerSpec, KernelDriver } from "#test/support/kernel-driver.ts";

type Action = readonly [kind: number, pick: number];
export const schedule = fc.array(fc.tuple(fc.nat(17), fc.nat(1_000)), {
  minLength: 5,
  maxLength: 70,
});

const NAMES = ["look", "put", "pay", "book"];
const LONG = "Item 12, found on 2026-11-03: nothing much. ".repeat(40);

function pickAnswer(pick: number): AnswerSpec {
  const name = NAMES[pick % 4] ?? "look";
  const unknown = {
    name: "nope",
    refusal: { code: "unknown_tool", message: "there is no tool" },
  } as const;
  const truncated = {
    name: "put",
    refusal: { code: "tool_args_truncated", message: "cut off" },
  } as const;
  const answers: readonly AnswerSpec[] = [
    { text: "done" },
    { text: LONG },
    { calls: [{ name }] },
    { text: "let me see", calls: [{ name }, { name: "look" }, { name: "put" }] },
    { calls: [{ name: "look" }, unknown] },
    { calls: [unknown] },
    { calls: [{ name }, truncated], finish: "length" },
    { text: " \n" },
    { reasoning: "hm" },
    {},
    { text: "cut", finish: "length" },
    { text: "no", finish: "content_filter" },
  ];
  return answers[pick % answers.length] ?? {};
}

/** Any of them is refused while a run is live; that is part of the schedule. */
function branch(driver: KernelDriver, branches: BranchDriver, pick: number): void {
  const names = branches.names();
  switch (pick % 4) {
    case 0:
      branches.regenerate(pick % 3 === 0 ? `m${pick % 40}` : null);
      return;
    case 1: {
      const input = driver.events.find(
        (event) => event.type === "input.received" && event.header.seq >= pick % 60,
      );
      const id = input?.type === "input.received" ? input.payload?.messageId : undefined;
      branches.edit(id ?? "none", `edited ${pick}`);
      return;
    }
    case 2:
      branches.select(names[pick % names.length] ?? "main");
      return;
    default:
      if (pick % 5 === 0) branches.clear();
  }
}

function act(
  { driver, branches }: { readonly driver: KernelDriver; readonly branches: BranchDriver },
  [kind, pick]: Action,
): void {
  const model = driver.flightOf("call_model");
  const tools = driver.flights.filter((flight) => flight.effect.type === "call_tool");
  switch (kind) {
    case 0:
      driver.send(`hello ${pick}`, { messageId: `m${pick % 40}` });
      return;
    case 1:
      driver.send(pick % 3 === 0 ? LONG : "wait", { delivery: "steer" });
      return;
    case 2:
      driver.send("now", { delivery: pick % 2 === 0 ? "reject" : "interrupt" });
      return;
    case 3:
      if (pick % 3 === 0)
        driver.cancel(driver.state.run?.runId ?? driver.state.queue.at(-1)?.runId ?? "none");
      return;
    case 4:
    case 5:
      if (pick % 2 === 0) driver.crash();
      return;
    case 6:
      driver.deliverZombie(0);
      return;
    case 7:
      if (model !== undefined)
        driver.failModel(
          pick % 2 === 0 ? "overloaded" : "stream_error",
          pick % 5 === 0 ? null : driver.now + pick,
        );
      return;
    case 8:
    case 9:
    case 10:
      if (model !== undefined) driver.answer(pickAnswer(pick));
      return;
    case 11:
    case 12: {
      const flight = tools[pick % Math.max(1, tools.length)];
      if (flight?.effect.type !== "call_tool") return;
      const plan =
        pick % 7 === 0 ? { plan: [{ text: `do ${pick}`, status: "active" as const }] } : {};
      driver.finishTool({
        callId: flight.effect.callId,
        output: pick % 4 === 0 ? LONG : `r${pick}`,
        status: pick % 9 === 0 ? "error" : "ok",
        ...plan,
      });
      return;
    }
    case 15:
    case 16:
      // Seldom idle by chance: mostly what is in flight is answered first.
      if (pick % 4 !== 0) finish(driver);
      branch(driver, branches, pick >> 2);
      return;
    default:
      driver.pump();
  }
}

function finish(driver: KernelDriver): void {
  for (let i = 0; i < 500; i += 1) {
    driver.pumpAll();
    if (driver.flights.length === 0) return;
    if (driver.flightOf("call_model") === undefined) driver.finishTool();
    else driver.answer({ text: "the end" });
  }
  throw new Error("the thread never comes to rest");
}
export function play(actions: readonly Action[], contextTokens: number): KernelDriver {
  const driver = new KernelDriver({ contextTokens }).create();
  driver.send("begin");
  const branches = new BranchDriver(driver, logOf(driver));
  for (const action of actions) act({ driver, branches }, action);
  finish(driver);
  return driver;
}
