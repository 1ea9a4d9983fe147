/** Random schedules of answers, results, crashes, repeats, cancellations and steering, over the pure kernel. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isErasable } from "#kernel/erasure.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import type { ThreadState } from "#kernel/state.ts";
import { rebuildPrompt } from "#audit/rebuild-prompt.ts";
import type { PromptMessage } from "#ports/model.ts";
import { BranchDriver, logOf } from "#test/support/branch-driver.ts";
import { type KernelDriver, nodeHasher } from "#test/support/kernel-driver.ts";
import { play, schedule } from "#test/support/schedule-player.ts";

function assertOneOutcomeEach(driver: KernelDriver): void {
  const outcomes = new Map<string, number>();
  for (const { type, header } of driver.events) {
    if (
      ![
        "model.answered",
        "model.failed",
        "model.interrupted",
        "tool.finished",
        "tool.interrupted",
      ].includes(type)
    )
      continue;
    outcomes.set(header.cause ?? "none", (outcomes.get(header.cause ?? "none") ?? 0) + 1);
  }
  const intents = driver.events.filter(
    ({ type }) => type === "model.requested" || type === "tool.started",
  );
  expect([...outcomes.keys()].toSorted()).toEqual(
    intents.map(({ header }) => header.id).toSorted(),
  );
  expect([...outcomes.values()].every((count) => count === 1)).toBe(true);
}

function assertOneResultEach(driver: KernelDriver): void {
  const made = driver.events.flatMap((event) =>
    event.type === "model.answered"
      ? (event.payload?.parts ?? []).flatMap((part) => (part.type === "call" ? [part.callId] : []))
      : [],
  );
  const closed = driver.events.flatMap(({ type, header }) =>
    type === "tool.finished" || type === "tool.refused" ? [header.call] : [],
  );
  expect(closed.toSorted()).toEqual(made.toSorted());
}

function assertOneEndEach(driver: KernelDriver): void {
  let live: string | null = null;
  const ended: string[] = [];
  for (const { type, header } of driver.events) {
    if (type === "run.started") {
      expect(live).toBeNull();
      live = header.run;
    }
    if (type === "run.completed" || type === "run.failed" || type === "run.cancelled") {
      ended.push(header.run ?? "");
      if (live === header.run) live = null;
    }
  }
  expect(live).toBeNull();
  expect(new Set(ended).size).toBe(ended.length);
}

/** What a strict provider refuses with 400. */
function assertValidPrompt(messages: readonly PromptMessage[]): void {
  expect(messages[0]?.role).toBe("user");
  const open: string[] = [];
  for (const message of messages) {
    expect(message.content.length).toBeGreaterThan(0);
    if (message.role === "tool") {
      for (const { callId, output } of message.content) {
        expect(callId).toBe(open.shift());
        expect(output.trim()).not.toBe("");
      }
      continue;
    }
    expect(open).toEqual([]);
    for (const part of message.content) {
      if (part.type === "text") expect(part.text.trim()).not.toBe("");
      if (part.type === "call") open.push(part.callId);
    }
  }
  expect(open).toEqual([]);
}

const RUNS = { numRuns: 400 };

describe("any schedule", () => {
  test("[K7] leaves each call with exactly one result and [G1] each intent with exactly one outcome", () => {
    fc.assert(
      fc.property(schedule, (actions) => {
        const driver = play(actions, 8_000);
        assertOneOutcomeEach(driver);
        assertOneResultEach(driver);
      }),
      RUNS,
    );
  });

  test("[K3] has at most one live run, and [K4] ends each run once; no message is lost", () => {
    fc.assert(
      fc.property(schedule, (actions) => {
        const driver = play(actions, 8_000);
        assertOneEndEach(driver);
        expect(driver.state.queue).toEqual([]);
        const started = new Set(
          driver.events.flatMap((event) =>
            event.type === "run.started" ? (event.payload?.inputs ?? []) : [],
          ),
        );
        const steered = new Set(
          driver.events.flatMap((event) =>
            event.type === "model.requested" ? (event.payload?.steered ?? []) : [],
          ),
        );
        const cancelled = new Set(
          driver.events.flatMap(({ type, header }) =>
            type === "run.cancelled" ? [header.run] : [],
          ),
        );
        for (const { type, header } of driver.events) {
          if (type !== "input.received") continue;
          expect(
            started.has(header.seq) ||
              steered.has(header.seq) ||
              cancelled.has(header.run) ||
              carriedAndCancelled(driver, header.seq),
          ).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test.each([600, 1_500, 8_000])(
    "[K8] asks only with valid prompts, [K9] without blank parts, at %i tokens of context",
    (contextTokens) => {
      fc.assert(
        fc.property(schedule, (actions) => {
          for (const { messages } of play(actions, contextTokens).prompts)
            assertValidPrompt(messages);
        }),
        RUNS,
      );
    },
  );

  test("[K11] records digests that its references rebuild from the log alone", () => {
    fc.assert(
      fc.property(schedule, (actions) => {
        const driver = play(actions, 1_500);
        for (const { seq, messages } of driver.prompts) {
          const rebuilt = rebuildPrompt(logOf(driver), nodeHasher, seq);
          expect(rebuilt.ok && rebuilt.value.intact).toBe(true);
          expect(rebuilt.ok && rebuilt.value.request.messages).toEqual(messages);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("[L4] folds with any erasable payloads erased, and [K8] asks on with valid prompts", () => {
    fc.assert(
      fc.property(
        schedule,
        fc.array(fc.nat(1_000), { minLength: 1, maxLength: 8 }),
        (actions, picks) => {
          const driver = play(actions, 1_500);
          for (const pick of picks) {
            const index = pick % driver.events.length;
            const event = driver.events[index];
            if (event !== undefined && isErasable(event.type))
              driver.events[index] = { ...event, payload: null };
          }
          const state = driver.events.reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
          expect(state.run).toBeNull();
          expect(state.queue).toEqual([]);
          driver.state = state;
          driver.crash();
          driver.send("after all that");
          driver.pumpAll();
          assertValidPrompt(driver.prompts.at(-1)?.messages ?? []);
        },
      ),
      RUNS,
    );
  });

  test("[K14] folds the same from any prefix, through any snapshot", () => {
    fc.assert(
      fc.property(schedule, fc.nat(1_000), (actions, at) => {
        const { events, state } = play(actions, 1_500);
        const cut = at % events.length;
        const prefix = events.slice(0, cut).reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
        const restored = THREAD_FOLD.restore(JSON.parse(JSON.stringify(THREAD_FOLD.dump(prefix))));
        expect(restored).toEqual(prefix);
        expect(events.slice(cut).reduce(THREAD_FOLD.evolve, restored)).toEqual(state);
      }),
      RUNS,
    );
  });
});

describe("any schedule of branches", () => {
  test("[K46] regenerating the second of two messages that entered together keeps the first", () => {
    const driver = play(
      [
        [1, 0],
        [1, 0],
        [4, 0],
        [15, 465],
        [0, 0],
        [0, 0],
      ],
      1_500,
    );
    const { state } = driver;
    const active = new BranchDriver(driver, logOf(driver)).history.membership(
      state,
      state.branch.id,
    );
    expect(state.window.filter(({ ref }) => active.without.has(ref[0]))).toEqual([]);
  });

  test("[K46] a message that no request held keeps the results recorded after it", () => {
    const driver = play(
      [
        [13, 0],
        [8, 110],
        [0, 0],
        [1, 0],
        [3, 0],
        [3, 0],
        [15, 448],
      ],
      1_500,
    );
    const { state } = driver;
    const active = new BranchDriver(driver, logOf(driver)).history.membership(
      state,
      state.branch.id,
    );
    const isHeld = (seq: number): boolean =>
      active.segments.some(({ from, to }) => from <= seq && seq <= to);
    expect(state.window.filter(({ ref }) => !isHeld(ref[0]))).toEqual([]);
  });

  test("[K46] parts the log among branches, and [K44] restores the window that each was left with", () => {
    let changes = 0;
    fc.assert(
      fc.property(schedule, (actions) => {
        const driver = play(actions, 1_500);
        const branches = new BranchDriver(driver, logOf(driver));
        const { events, state } = driver;
        const segments = branches.history.segments(state);
        expect(segments.flatMap(({ from, to }) => [from, to + 1])).toEqual([
          1,
          ...segments.slice(1).flatMap(({ from }) => [from, from]),
          events.length + 1,
        ]);
        const active = branches.history.membership(state, state.branch.id);
        for (const { ref } of state.window) {
          const holds = active.segments.some(({ from, to }) => from <= ref[0] && ref[0] <= to);
          expect(holds && !active.without.has(ref[0])).toBe(true);
        }
        for (const name of branches.names()) {
          const { segments: held } = branches.history.membership(state, name);
          held.forEach(({ from, to }, index) => {
            expect(from).toBeLessThanOrEqual(to);
            expect(from).toBeGreaterThan(held[index - 1]?.to ?? 0);
          });
          if (name === state.branch.id) continue;
          changes += 1;
          const left = branches.history.leftBy(driver.state, name)?.header.seq ?? 0;
          const before = events
            .slice(0, left - 1)
            .reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
          branches.select(name);
          expect(withoutPlan(driver.state)).toEqual(withoutPlan(before));
          expect(driver.state.plan).toEqual(before.plan);
        }
      }),
      RUNS,
    );
    // Otherwise the schedules prove nothing.
    expect(changes).toBeGreaterThan(RUNS.numRuns / 4);
  });
});

function withoutPlan({ window, planSeq }: ThreadState): ThreadState["window"] {
  return window.filter((entry) => entry.ref[0] !== planSeq);
}

/** A steering message that came too late has a run of its own, which may have been cancelled while it was queued. */
function carriedAndCancelled(driver: KernelDriver, seq: number): boolean {
  return driver.events.some(
    ({ type, header }) => type === "run.cancelled" && header.run?.endsWith(`-s${seq}`) === true,
  );
}
