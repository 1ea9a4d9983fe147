/** Approvals at the terminal: what is asked, what is decided, and what happens when somebody else was first. */
import { expect, test } from "vitest";
import { HoldfastError } from "#client/errors.ts";
import { Approvals } from "../../../scripts/chat/approvals.mjs";

interface Decision {
  readonly id: string;
  readonly decision: object;
}

function terminal(lines: readonly string[], refusals: readonly Error[] = []) {
  const answers = [...lines];
  const fails = [...refusals];
  const decisions: Decision[] = [];
  const said: string[] = [];
  const asked: string[] = [];
  const agent = {
    thread: (thread: string) => ({
      path: `/agents/clerk/threads/${thread}`,
      decide: async (id: string, decision: object) => {
        const fault = fails.shift();
        if (fault !== undefined) throw fault;
        decisions.push({ id, decision });
      },
    }),
  };
  const renderer = {
    note: (text: string) => said.push(text),
    problem: (text: string) => said.push(text),
  };
  const question = async (text: string, signal: AbortSignal): Promise<string> => {
    asked.push(text);
    const line = answers.shift();
    if (line !== undefined) return line;
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true }),
    );
  };
  return { agent, renderer, question, decisions, said, asked };
}
const settle = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const requested = (id: string, over: object = {}) => ({
  type: "approval.requested",
  header: { id },
  payload: { kind: "tool", tool: "wire", args: { amount: 1 }, answerSchema: null, ...over },
});

test.each([
  ["y", { decision: "approve" }],
  ["YES", { decision: "approve" }],
  ["n", { decision: "deny" }],
  ["", { decision: "deny" }],
  ["wrong account", { decision: "deny", comment: "wrong account" }],
])("[A1] %j at the prompt is %j", async (line, decision) => {
  const at = terminal([line]);
  const approvals = new Approvals(at);
  approvals.event("t", requested("evt_1"));
  await settle();
  expect(at.decisions).toEqual([{ id: "evt_1", decision }]);
});

test("[A5] several are asked one after another", async () => {
  const at = terminal(["y", "n"]);
  const approvals = new Approvals(at);
  approvals.event("t", requested("evt_1"));
  approvals.event("t", requested("evt_2"));
  await settle();
  expect(at.decisions).toEqual([
    { id: "evt_1", decision: { decision: "approve" } },
    { id: "evt_2", decision: { decision: "deny" } },
  ]);
});

test("[A4] an answer is sent as JSON where a schema is given; what does not fit is asked for again", async () => {
  const misfit = new HoldfastError("approval_answer_invalid", "/day: expected text", {
    status: 422,
  });
  const at = terminal(["{day", '{"day":3}', '{"day":"Monday"}'], [misfit]);
  const approvals = new Approvals(at);
  approvals.event("t", requested("evt_1", { kind: "question", answerSchema: { type: "object" } }));
  await settle();
  expect(at.asked).toHaveLength(3);
  expect(at.said).toEqual(["that is not JSON; a text needs its quotes", "/day: expected text"]);
  expect(at.decisions).toEqual([
    { id: "evt_1", decision: { decision: "answer", answer: { day: "Monday" } } },
  ]);
});

test("[A3] what somebody else decides meanwhile is not asked about any more", async () => {
  const at = terminal([]);
  const approvals = new Approvals(at);
  approvals.event("t", requested("evt_1"));
  await settle();
  approvals.event("t", { type: "approval.decided", header: { cause: "evt_1" }, payload: {} });
  await settle();
  expect(at.decisions).toEqual([]);
  expect(at.said).toEqual([]);
});

test("[A1] without a terminal it says how to decide", () => {
  const at = terminal([]);
  const approvals = new Approvals({ ...at, question: null });
  approvals.event("t", requested("evt_1"));
  expect(at.said.join("\n")).toContain("/v1/agents/clerk/threads/t/approvals/evt_1/decision");
});
