/** What one event adds to the counters. */
import { describe, expect, it } from "vitest";
import type { ThreadEvent, ThreadEventType } from "#kernel/events.ts";
import { countUp, METRIC_EVENTS } from "#kernel/metrics.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";

const HEADER = { at: 1_800_000_000_000, costMicros: null, costKind: null };

// Only what the counters read: events of the runtime itself are counted in test/workers/metrics.test.ts.
function event(type: ThreadEventType, payload: object | null, header: object = {}): ThreadEvent {
  return { type, payload, hash: "", header: { ...HEADER, ...header } } as unknown as ThreadEvent;
}
const told = (events: readonly ThreadEvent[]): Record<string, number> =>
  Object.fromEntries(
    countUp(events).map(({ counter, label, value }) => [`${counter} ${label}`.trim(), value]),
  );

const SETTLED = { settlement: { costMicros: 5, tokens: 9, estimated: false } };
const LOOP = { pattern: "cycle_2", tool: "look", args: "0".repeat(16), count: 6 };

describe("countUp", () => {
  it("[H51] counts runs by status, steps, and tool calls by the status of their result", () => {
    expect(
      told([
        event("run.started", { inputs: [1] }),
        event("run.started", { inputs: [2] }),
        event("model.answered", SETTLED),
        event("model.answered", SETTLED),
        event("tool.finished", { result: { status: "ok" }, ...SETTLED }),
        event("tool.finished", { result: { status: "error" }, ...SETTLED }),
        event("tool.refused", { name: "x", refusal: { code: "unknown_tool", message: "" } }),
        event("run.completed", { finish: "stop" }),
        event("run.cancelled", { reason: "asked" }),
      ]),
    ).toEqual({
      "runs started": 2,
      "runs completed": 1,
      "runs cancelled": 1,
      steps: 2,
      "tool_calls ok": 1,
      "tool_calls error": 1,
      "tool_calls refused": 1,
    });
  });

  it("[H51] counts recoveries, and the money that was paid again, corrections included", () => {
    const recovery = { costMicros: 40, costKind: "recovery" };
    const booked = (kind: string, costMicros: number) => ({
      kind,
      settlement: { costMicros, tokens: 1, estimated: false },
    });
    expect(
      told([
        event("model.interrupted", SETTLED),
        event("tool.interrupted", { next: "rerun" }),
        event("model.answered", SETTLED, recovery),
        event("model.answered", SETTLED, { costMicros: 7, costKind: "normal" }),
        event("usage.corrected", {
          outcomeAt: HEADER.at,
          before: booked("recovery", 40),
          after: booked("recovery", 25),
        }),
      ]),
    ).toEqual({
      "recoveries model": 1,
      "recoveries tool": 1,
      recovery_micros: 25,
      steps: 2,
    });
  });

  it("[H51] tells guard stops by pattern, and every way in which money stopped something", () => {
    const failed = (reason: string) => event("run.failed", { reason, message: "" });
    expect(
      told([
        event("context.added", { kind: "reminder", text: "", loop: LOOP }),
        event("context.added", { kind: "repair", text: "" }),
        event("run.completed", { finish: "loop_guard", loop: LOOP }),
        failed("budget_exceeded"),
        failed("cost_cap"),
        failed("model_failed"),
        event("tool.refused", { name: "x", refusal: { code: "budget_exhausted", message: "" } }),
        event("route.changed", { from: "a", to: "b", budget: {} }),
      ]),
    ).toEqual({
      "runs completed": 1,
      "runs failed": 3,
      "guard_nudges cycle_2": 1,
      "guard_stops cycle_2": 1,
      "tool_calls refused": 1,
      "budget_blocks budget_exceeded": 1,
      "budget_blocks cost_cap": 1,
      "budget_blocks budget_exhausted": 1,
      "budget_blocks cheaper_route": 1,
    });
  });

  it("[H51] an erased event still counts by its type", () => {
    expect(
      told([
        event("run.completed", null),
        event("tool.finished", null),
        event("approval.decided", null),
        event("context.added", null),
      ]),
    ).toEqual({ "runs completed": 1, "tool_calls unknown": 1, "approvals unknown": 1 });
  });

  it("[H51] names every type that counts, and no other", () => {
    const types = Object.keys(THREAD_CATALOGUE.versions) as ThreadEventType[];
    const counting = types.filter(counts);
    expect(counting.filter((type) => !METRIC_EVENTS.some((each) => each === type))).toEqual([]);
  });
});

function counts(type: ThreadEventType): boolean {
  const paid = { costMicros: 1, costKind: "recovery" };
  return countUp([event(type, null, paid)]).length > 0;
}
