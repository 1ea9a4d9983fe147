/** Runs explained from golden logs: the whole of it, page by page, with erased parts said (H20 to H23). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { explainRun } from "#audit/explain.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import type { ExplanationView, StepView } from "#ports/audit-views.ts";
import { readGoldenLog, type ReadableLog } from "#test/support/golden-log.ts";

const FOLDER = join(import.meta.dirname, "../../fixtures/logs/threads-v1");
const APPROVALS = "approvals-of-all-four-effects-and-a-question-decided-in-another-order.jsonl";
const TWENTY = "twenty-steps-tools-of-all-four-effects.jsonl";

type Explainable = ReadableLog & { readonly logId: string; head(): { seq: number; hash: string } };

function golden(
  file: string,
  erased: readonly number[] = [],
): Explainable & { readonly events: readonly ThreadEvent[] } {
  const log = readGoldenLog(readFileSync(join(FOLDER, file), "utf8"));
  const gone = (event: ThreadEvent | null): ThreadEvent | null =>
    event !== null && erased.includes(event.header.seq) ? { ...event, payload: null } : event;
  return {
    logId: "log_golden",
    events: log.events,
    head: () => ({ seq: log.events.length, hash: log.events.at(-1)?.hash ?? "" }),
    get: (seq) => gone(log.get(seq)),
    read: (options) => log.read(options).map((event) => gone(event) ?? event),
  };
}

function explain(
  log: Explainable & { readonly events: readonly ThreadEvent[] },
  page: { readonly after?: number; readonly limit?: number } = {},
): ExplanationView {
  const seqOf = (type: string): number =>
    log.events.find((event) => event.type === type)?.header.seq ?? 0;
  const request = {
    runId: "run_1",
    startSeq: seqOf("input.received"),
    endSeq: seqOf("run.completed"),
  };
  return explainRun(log, new NodeHasher(), { ...request, after: 0, limit: 50, ...page });
}

describe("explainRun", () => {
  it("[H20] three steps with approvals: prompts, choices, calls, decisions, each by its event", () => {
    const log = golden(APPROVALS);
    const { steps, pin, inputs, end, later, erased, next } = explain(log);
    expect({ erased, next, later }).toEqual({ erased: 0, next: null, later: [] });
    expect(pin).toMatchObject({ seq: 2, manifest: { name: "helper" } });
    expect(inputs).toMatchObject([{ seq: 3, payload: { text: "go" } }]);
    expect(end).toMatchObject({ seq: 40, type: "run.completed" });
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3]);
    const calls = steps.flatMap((step) => step.calls);
    const decided = calls.flatMap(({ name, approvals, refusal }) =>
      approvals.map(({ kind, shown, decision, decidedBy }) => ({
        name,
        kind,
        shown,
        decision,
        decidedBy,
        refused: refusal !== null,
      })),
    );
    expect(decided).toContainEqual({
      name: "ask_human",
      kind: "question",
      shown: "Which?",
      decision: "answered",
      decidedBy: "usr_1",
      refused: false,
    });
    expect(decided).toContainEqual({
      name: "once",
      kind: "tool",
      shown: { deny: true },
      decision: "denied",
      decidedBy: "usr_1",
      refused: true,
    });
    expect(decided).toHaveLength(7);
    const attempts = calls.flatMap((call) => call.attempts);
    expect(attempts).toHaveLength(log.events.filter(({ type }) => type === "tool.started").length);
    expect(attempts.every(({ outcome }) => outcome?.status === "finished")).toBe(true);
    const named = new Set(JSON.stringify(steps).match(/"seq":\d+/g));
    const ofSteps = log.events.filter(({ header }) => header.step !== null);
    expect(named.size).toBe(ofSteps.length);
  });

  it("[H21] each prompt has the digest that was recorded, and an erased text gives another", () => {
    const intact = (view: ExplanationView) =>
      view.steps.flatMap(({ attempts }) => attempts.map(({ prompt }) => prompt?.intact));
    expect(intact(explain(golden(TWENTY)))).not.toContain(false);
    const erased = explain(golden(APPROVALS, [3]));
    expect(intact(erased)).toEqual([false, false, false]);
  });

  it.each([1, 3, 7])("[H22] in pages of %i steps, no step is cut and none is twice", (limit) => {
    const log = golden(TWENTY);
    const whole = explain(log);
    const steps: StepView[] = [];
    let after: number | null = 0;
    while (after !== null) {
      const page: ExplanationView = explain(log, { after, limit });
      expect(page.steps.length).toBeLessThanOrEqual(limit);
      expect([page.pin !== null, page.inputs.length > 0]).toEqual([after === 0, after === 0]);
      expect(page.end !== null).toBe(page.next === null);
      steps.push(...page.steps);
      after = page.next;
    }
    expect(whole.steps.length).toBeGreaterThan(15);
    expect(steps).toEqual(whole.steps);
  });

  it("[H23] what was erased is null and counted: an answer, a result, arguments, a decision", () => {
    const log = golden(APPROVALS, [6, 12, 13, 14]);
    const { steps, erased } = explain(log);
    expect(erased).toBe(4);
    const [first] = steps;
    expect(first?.attempts[0]?.outcome).toMatchObject({
      seq: 6,
      erased: true,
      parts: [],
      finish: null,
    });
    const attempts = first?.calls.flatMap((call) => call.attempts) ?? [];
    expect(attempts.find(({ seq }) => seq === 14)).toMatchObject({
      erased: true,
      args: null,
      verdicts: null,
    });
    expect(attempts.find(({ outcome }) => outcome?.seq === 12)?.outcome).toMatchObject({
      erased: true,
      result: null,
    });
    const decisions = first?.calls.flatMap((call) => call.approvals) ?? [];
    expect(decisions.find(({ decided }) => decided?.seq === 13)).toMatchObject({
      decision: null,
      decidedBy: "usr_1",
    });
  });

  it("[H23] the last event, and what it followed from, are named as evidence after an erasure too", () => {
    const { end, inputs } = explain(golden(APPROVALS, [3, 40]));
    expect(end).toMatchObject({ seq: 40, payload: null, erased: true });
    expect(inputs).toMatchObject([{ seq: 3, payload: null, erased: true }]);
  });
});
