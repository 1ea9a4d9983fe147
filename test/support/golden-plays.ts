/**
 * Plays of threads for golden logs: events that no scenario of the crash suite has. Together with those, every type of the
 * catalogue is in some golden log, and must stay readable.
 */
import { toSettlement } from "#runner/pricing.ts";
import type { ThreadCommand } from "#kernel/commands.ts";
import { BranchDriver } from "./branch-driver.ts";
import { ManualClock } from "./manual-clock.ts";
import { budgetOf, NodeLedger } from "./node-ledger.ts";
import { ask, say, ScriptModel, type ScriptPart } from "./scripted-model.ts";
import { MANIFEST, ThreadHarness, type HarnessOptions } from "./thread-harness.ts";
import { Timetable } from "./timetable.ts";
import { World } from "./world.ts";

export interface GoldenPlay {
  readonly name: string;
  readonly play: () => Promise<ThreadHarness>;
}

const PRICE = { version: "test-1", inputMicrosPerMillion: 0, outputMicrosPerMillion: 10_000_000 };
const CONTEXT = { actor: "key_op", idempotencyKey: null, bodyDigest: "" };

function open(
  script: readonly (readonly ScriptPart[])[],
  more: Partial<HarnessOptions> = {},
): ThreadHarness {
  return new ThreadHarness({ model: new ScriptModel(script, { by: "call" }), ...more });
}

function submit(thread: ThreadHarness, command: ThreadCommand): void {
  const submitted = thread.runtime.submit(command, CONTEXT);
  if (!submitted.ok) throw new Error(`${command.type}: ${submitted.error.reason}`);
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !condition(); turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  if (!condition()) throw new Error("the play does not get there");
}

async function stateAndBranches(): Promise<ThreadHarness> {
  const thread = open([say("one"), say("two"), say("three")]);
  submit(thread, { type: "set_state", state: { a: [1, null] }, bytes: 16 });
  submit(thread, { type: "write_file", path: "a.txt", digest: "0".repeat(64), bytes: 1 });
  submit(thread, { type: "delete_file", path: "a.txt" });
  thread.send("go");
  await thread.finish();
  thread.halt();
  thread.resume();
  let minted = 0;
  const driver = new BranchDriver(
    {
      get state() {
        return thread.runtime.state;
      },
      manifest: thread.manifest,
      definition: thread.definition,
      mint: (prefix) => `${prefix}_b${(minted += 1)}`,
      command: (command) => thread.runtime.submit(command, CONTEXT),
    },
    thread.log,
  );
  driver.regenerate();
  await thread.finish();
  driver.clear();
  const [first = ""] = driver.names();
  driver.select(first);
  submit(thread, { type: "request_erasure", runId: null, origin: null });
  const erasureId = thread.of("erasure.requested")[0]?.header.id ?? "";
  const kept = [{ runId: "run_1", finish: "stop", reason: null, tokens: 15 }];
  const stores = [{ store: "log_payloads", count: 9 }];
  submit(thread, { type: "complete_erasure", erasureId, stores, wiped: "rewritten", kept });
  return thread;
}

async function attempts(): Promise<ThreadHarness> {
  const world = new World();
  let release: () => void = () => undefined;
  const slow = world.tool("slow", "idempotent", async (_args, context) => {
    context.report({ type: "log", level: "info", data: "begun" });
    await new Promise<void>((resolve) => (release = resolve));
    return "late";
  });
  const script = [
    [{ error: "overloaded", retryAfterMs: 10 }],
    [{ text: "cut" }, { hang: true }],
    ask(["slow"]),
    say("done"),
    ask(["slow", { n: 2 }]),
    [{ error: "unauthorized", retryable: false }],
  ] as const;
  const model = new ScriptModel(script, { by: "call" });
  const thread = new ThreadHarness({ model, tools: [slow], prices: { price: () => PRICE } });
  thread.send("go");
  void thread.finish().catch(() => undefined);
  await until(() => model.waiting === 1);
  thread.reopen();
  void thread.finish().catch(() => undefined);
  await until(() => world.executions.length === 1);
  thread.reopen();
  const finished = thread.finish();
  await until(() => world.executions.length === 2);
  release();
  await finished;
  thread.send("again");
  const cancelled = thread.finish();
  await until(() => world.executions.length === 3);
  thread.cancel("run_2");
  release();
  await cancelled;
  await until(() => thread.of("tool.late").length === 1);
  thread.send("fail");
  await thread.finish();
  const [lost] = thread.of("model.interrupted");
  if (lost === undefined) throw new Error("no attempt was lost");
  const none = { cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };
  const usage = { inputTokens: 10, outputTokens: 5, ...none };
  const estimate = { input: 0, output: 0 };
  const after = toSettlement(usage, { route: MANIFEST.route, price: PRICE, estimate });
  submit(thread, { type: "correct_usage", outcome: lost, after, priceVersion: PRICE.version });
  return thread;
}

async function decidedTwice(): Promise<ThreadHarness> {
  const tool = new World().tool("send", "once", () => "sent", { approval: "always" });
  const thread = open([ask(["send"]), say("done")], { tools: [tool] });
  thread.send("go");
  await thread.runtime.drive();
  const [approvalId = ""] = thread.openApprovals();
  thread.decide(approvalId, "approve");
  await thread.finish();
  const refusal = "approval_already_decided";
  submit(thread, { type: "refuse_approval", approvalId, attempted: "deny", refusal });
  return thread;
}

async function leases(): Promise<ThreadHarness> {
  const clock = new ManualClock();
  const ledger = new NodeLedger(clock);
  const cheap = { ...PRICE, outputMicrosPerMillion: 1_000_000 };
  const thread = open([], {
    clock,
    ledger,
    manifest: { fallbacks: ["test/small"] },
    prices: { price: (route) => (route === "test/small" ? cheap : PRICE) },
  });
  thread.routes.set("test/small", new ScriptModel([say("cheap")]));
  await ledger.putBudget(budgetOf(9_999, { atLimit: "cheaper" }), "key_op");
  thread.send("go");
  await thread.finish();
  submit(thread, { type: "decline_lease", leaseId: "lease_unknown" });
  return thread;
}

async function schedules(): Promise<ThreadHarness> {
  const table = new Timetable({ tick: { everySeconds: 60, text: "tick" } });
  table.set("mine", { type: "every", seconds: 600 });
  await table.tick();
  table.hold("mine", true, table.now);
  table.drop("mine");
  return table.thread;
}

export const GOLDEN_PLAYS: readonly GoldenPlay[] = [
  { name: "state, files, a halt, branches and an erasure", play: stateAndBranches },
  { name: "attempts that fail, are lost, report, come late", play: attempts },
  { name: "an approval decided twice", play: decidedTwice },
  { name: "leases and a cheaper route", play: leases },
  { name: "schedules", play: schedules },
];
