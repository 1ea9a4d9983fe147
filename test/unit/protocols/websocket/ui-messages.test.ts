/** Messages of a thread as UI messages: pure, one case a shape. */
import { describe, expect, it } from "vitest";
import type { MessageView } from "#ports/thread-gateway.ts";
import { toUiMessages } from "#protocols/websocket/ui-messages.ts";
import type { Json } from "#shared/json.ts";

const view = (
  role: MessageView["role"],
  content: Json,
  over: Partial<MessageView> = {},
): MessageView => ({
  seq: 1,
  messageId: "m1",
  runId: "run_1",
  at: 1,
  branch: "main",
  superseded: false,
  role,
  content,
  ...over,
});
const call = { type: "call", callId: "c1", name: "add", args: { a: 1 }, refusal: null };
const partsOf = (result: Json): unknown =>
  toUiMessages([view("assistant", [call]), view("tool", result)], [])[0]?.parts[1];

describe("toUiMessages", () => {
  it("[P26] gives a user message its own id and all answers of a run the run's id", () => {
    const views = [
      view("user", [{ type: "text", text: "hi" }], { messageId: "u1" }),
      view("assistant", [{ type: "reasoning", text: "hm" }, { type: "text", text: "a" }, call]),
      view("tool", { callId: "c1", status: "ok", output: '{"sum":1}' }),
      view("assistant", [{ type: "text", text: "b" }], { messageId: "m9" }),
    ];
    expect(toUiMessages(views, [])).toEqual([
      { id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] },
      {
        id: "run_1",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "hm", state: "done" },
          { type: "text", text: "a", state: "done" },
          {
            type: "tool-add",
            toolCallId: "c1",
            input: { a: 1 },
            state: "output-available",
            output: { sum: 1 },
          },
          { type: "step-start" },
          { type: "text", text: "b", state: "done" },
        ],
      },
    ]);
  });

  it("[P26] shows a call as waiting for approval, or for its input only", () => {
    const state = (kind: "tool" | "question"): unknown =>
      toUiMessages([view("assistant", [call])], [{ callId: "c1", approvalId: "evt_1", kind }])[0]
        ?.parts[1];
    expect(state("tool")).toMatchObject({ state: "approval-requested", approval: { id: "evt_1" } });
    expect(state("question")).toMatchObject({ state: "input-available" });
  });

  it("[P26] shows errors, denials and plain text for what they are", () => {
    expect(partsOf({ callId: "c1", status: "error", output: "broke" })).toMatchObject({
      state: "output-error",
      errorText: "broke",
    });
    const denied = { callId: "c1", status: "refused", code: "denied_by_human", output: "no" };
    expect(partsOf(denied)).toMatchObject({
      state: "output-denied",
      approval: { approved: false },
    });
    expect(partsOf({ callId: "c1", status: "ok", output: "[cut preview" })).toMatchObject({
      output: "[cut preview",
    });
  });

  it("[P26] keeps the place of an erased message, and drops an answer of which nothing is left", () => {
    const views = [view("user", null, { messageId: "u1" }), view("assistant", null)];
    expect(toUiMessages(views, [])).toEqual([
      { id: "u1", role: "user", parts: [{ type: "text", text: "" }] },
    ]);
  });
});
