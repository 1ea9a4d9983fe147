/**
 * Scenarios of the boundary suite. `play` is what clients do; it is played again after a crash with the same keys, as
 * clients retry, so each command reaches the thread at least once.
 */
import type { Tool } from "#ports/tool.ts";
import type { OutputSpec } from "#ports/model.ts";
import { ask, say, type ScriptPart } from "#test/support/scripted-model.ts";
import type { ThreadHarness } from "#test/support/thread-harness.ts";
import { askHuman } from "#tools/ask-human.ts";
import { hangUntilAborted, type World } from "#test/support/world.ts";

export interface Scenario {
  readonly name: string;
  readonly script: readonly (readonly ScriptPart[])[];
  readonly tools: (world: World) => readonly Tool[];
  readonly play: (thread: ThreadHarness) => Promise<void>;
}

const NO_TOOLS = (): readonly Tool[] => [];
const EFFECTS = ["read", "idempotent", "reconcile", "once"] as const;

export function effectTools(world: World): readonly Tool[] {
  return EFFECTS.map((effect) => world.tool(effect, effect));
}

async function sendAndFinish(thread: ThreadHarness): Promise<void> {
  thread.send("go", { key: "k1", messageId: "msg_1", runId: "run_1" });
  await thread.finish();
}

/** Decides newest first, whatever is open, until nothing is: what says no in its arguments is denied. */
async function decideAll(thread: ThreadHarness): Promise<void> {
  for (;;) {
    const result = await thread.runtime.drive();
    const id = thread.openApprovals().at(-1);
    if (id === undefined) {
      if (result.next === "idle") return;
      thread.clock.set(result.at);
      continue;
    }
    const request = thread.of("approval.requested").find(({ header }) => header.id === id);
    if (request?.payload?.kind === "question") thread.decide(id, "answer", { answer: "blue" });
    else thread.decide(id, request?.payload?.args?.["deny"] === true ? "deny" : "approve");
  }
}

/** Ends when `condition` holds, or the drive does; it never hangs a test. */
export async function driveUntil(thread: ThreadHarness, condition: () => boolean): Promise<void> {
  let ended = false;
  const drive = thread.finish().finally(() => (ended = true));
  // The drive's failure is the caller's to see, below; a second handler keeps it from being reported as unhandled.
  drive.catch(() => undefined);
  for (let tick = 0; tick < 10_000 && !ended && !condition(); tick += 1)
    await new Promise((resolve) => setImmediate(resolve));
  if (ended) await drive;
}

const twentySteps = Array.from({ length: 20 }, (_, index) =>
  ask([EFFECTS[index % 4] ?? "read", { step: index }]),
);

const OUTPUT: OutputSpec = {
  name: "answer",
  schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
};

export const SCENARIOS: readonly Scenario[] = [
  { name: "text only", script: [say("hello")], tools: NO_TOOLS, play: sendAndFinish },
  {
    name: "twenty steps, tools of all four effects",
    script: [...twentySteps, say("all done")],
    tools: effectTools,
    play: sendAndFinish,
  },
  {
    name: "a parallel round of all four effects, twice",
    script: [
      ask(["read"], ["idempotent"], ["reconcile"], ["once"]),
      ask(["once"], ["reconcile"], ["read"], ["read"]),
      say("done"),
    ],
    tools: effectTools,
    play: sendAndFinish,
  },
  {
    name: "structured output with a repair",
    script: [say("it is one"), say('{"n":"1"}'), say('{"n":1}')],
    tools: NO_TOOLS,
    play: async (thread) => {
      thread.send("count", { key: "k1", messageId: "msg_1", runId: "run_1", output: OUTPUT });
      await thread.finish();
    },
  },
  {
    name: "two queued messages",
    script: [ask(["read"]), say("first"), ask(["idempotent"]), say("second"), say("third")],
    tools: effectTools,
    play: async (thread) => {
      thread.send("one", { key: "k1", messageId: "msg_1", runId: "run_1" });
      thread.send("two", { key: "k2", messageId: "msg_2", runId: "run_2" });
      thread.send("three", { key: "k3", messageId: "msg_3", runId: "run_3" });
      await thread.finish();
    },
  },
  {
    name: "approvals of all four effects and a question, decided in another order",
    script: [
      ask(["once"], ["free"], ["reconcile"], ["ask_human", { question: "Which?" }], ["idempotent"]),
      ask(["read"], ["once", { deny: true }], ["once", { n: 2 }]),
      say("done"),
    ],
    tools: (world) => [
      ...EFFECTS.map((effect) => world.tool(effect, effect, undefined, { approval: "always" })),
      world.tool("free", "read"),
      askHuman,
    ],
    play: async (thread) => {
      thread.send("go", { key: "k1", messageId: "msg_1", runId: "run_1" });
      await decideAll(thread);
    },
  },
  {
    name: "file writes",
    script: [ask(["note", { line: "a" }]), ask(["note", { line: "b" }], ["mark"]), say("written")],
    tools: (world) => [
      world.tool("note", "idempotent", (args, { files }) => {
        const before = new TextDecoder().decode(files.read("notes.txt") ?? new Uint8Array());
        files.write("notes.txt", new TextEncoder().encode(`${before}${String(args["line"])}\n`));
        return "noted";
      }),
      world.tool("mark", "read", (_args, { files, setPlan }) => {
        files.write("mark.txt", new TextEncoder().encode("x"));
        setPlan([{ text: "finish", status: "active" }]);
        return "marked";
      }),
    ],
    play: sendAndFinish,
  },
  {
    name: "a cancel while a tool runs, then another message",
    script: [ask(["read"], ["slow"]), say("after")],
    tools: (world) => [
      world.tool("read", "read"),
      world.tool("slow", "read", hangUntilAborted, {
        limits: { timeoutMs: 60_000, maxResultBytes: 100, maxCallsPerRun: 9 },
      }),
    ],
    play: async (thread) => {
      thread.send("go", { key: "k1", messageId: "msg_1", runId: "run_1" });
      await driveUntil(
        thread,
        () => thread.of("tool.started").length >= 2 && thread.of("tool.finished").length >= 1,
      );
      thread.cancel("run_1");
      thread.send("and now", { key: "k2", messageId: "msg_2", runId: "run_2" });
      await thread.finish();
    },
  },
];
