/** Pages of messages over a log that is parted among branches. */
import { beforeAll, describe, expect, test } from "vitest";
import { pageMessages } from "#durable-objects/agent/views.ts";
import type { MessageView } from "#ports/thread-gateway.ts";
import { BranchHistory } from "#runner/branch-history.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

const QUESTIONS = 150;
const thread = new ThreadHarness({ model: new ScriptModel([say("a"), say("a")]) });

function change(command: Parameters<typeof thread.runtime.submit>[0]): void {
  const context = { actor: "usr_1", idempotencyKey: null, bodyDigest: "" };
  const done = thread.runtime.submit(command, context);
  if (!done.ok) throw new Error(done.error.reason);
}
const EMPTY = { entries: [], plan: [] } as const;

function clear(branch: string): void {
  const parent = thread.runtime.state.branch.id;
  const point = { ...EMPTY, parent, keepTo: 0, without: [] };
  change({ type: "start_branch", branch, reason: "clear", point, run: null });
}

/** Main has a question at its beginning and one at its end, and another branch everything between. */
beforeAll(async () => {
  const ask = async (text: string): Promise<void> => {
    thread.send(text);
    await thread.finish();
  };
  await ask("first");
  clear("br_1");
  for (let i = 0; i < QUESTIONS; i += 1) thread.runtime.submit(stateOf(i), keyless());
  await ask("between");
  change({ type: "select_branch", branch: "main", window: EMPTY });
  await ask("last");
});
const stateOf = (state: number) => ({ type: "set_state", state, bytes: 3 }) as const;
const keyless = () => ({ actor: "usr_1", idempotencyKey: null, bodyDigest: "" });

function walk(branch: string, limit: number): readonly (readonly MessageView[])[] {
  const history = new BranchHistory(thread.log);
  const { state } = thread.runtime;
  const shown = history.membership(state, branch);
  const active = history.membership(state, state.branch.id);
  const pages: (readonly MessageView[])[] = [];
  for (let after: number | null = 0; after !== null;) {
    const page = pageMessages({ log: thread.log, shown, active }, { after, limit });
    pages.push(page.items);
    after = page.next;
  }
  return pages;
}
const texts = (items: readonly MessageView[]): readonly unknown[] =>
  items.flatMap(({ content }) => (content as { text: string }[]).map(({ text }) => text));

describe("pages of a branch", () => {
  test.each([1, 2, 3, 200])("[P7] [K46] of %i give each of its messages once", (limit) => {
    expect(texts(walk("main", limit).flat())).toEqual(["first", "a", "last", "a"]);
    expect(texts(walk("br_1", limit).flat())).toEqual(["between", "a"]);
  });

  test("[K46] what other branches hold between is not scanned: one page has it all", () => {
    expect(walk("main", 200).map((page) => page.length)).toEqual([4]);
  });

  test("[K46] of a branch that is not active are superseded", () => {
    expect(
      walk("br_1", 200)
        .flat()
        .map(({ superseded }) => superseded),
    ).toEqual([true, true]);
    expect(
      walk("main", 200)
        .flat()
        .map(({ superseded }) => superseded),
    ).not.toContain(true);
  });
});
