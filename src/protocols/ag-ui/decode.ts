/**
 * A `RunAgentInput` to commands.
 *
 * P70 of the messages only what is behind the agent's last word is taken, and the client's own tools stand beside the agent's
 * (P60). Its history, its system messages and its copy of the answers are not taken: the log is the conversation.
 */
import type { DecisionVerb } from "#kernel/events.ts";
import type { RunExtras } from "#ports/thread-gateway.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import type { RunInput } from "./wire.ts";

export interface GivenAnswer {
  /** Of the approval, or of the call that waits. */
  readonly id: string;
  readonly by: "approval" | "call";
  /** Null: whatever the approval asks for, `answer` says it. */
  readonly decision: DecisionVerb | null;
  readonly answer: Json;
}
export interface RunPlan {
  readonly text: string;
  readonly extras: RunExtras;
  readonly answers: readonly GivenAnswer[];
  /** The shared state as the client has it; null for none. */
  readonly state: Json;
}

export function planRun(input: RunInput): RunPlan {
  const { messages, tools, context, resume, state = null } = input;
  const behind = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const text = behind
    .flatMap((message) => (message.role === "user" ? [message.content] : []))
    .join("\n\n");
  const results = behind.flatMap((message): readonly GivenAnswer[] =>
    message.role === "tool"
      ? [{ id: message.toolCallId, by: "call", decision: "answer", answer: message.content }]
      : [],
  );
  const resumed = resume.map(({ interruptId, status, payload = null }): GivenAnswer => ({
    id: interruptId,
    by: "approval",
    decision: status === "cancelled" ? "deny" : null,
    answer: payload,
  }));
  const isEmpty = state === null || (isJsonObject(state) && Object.keys(state).length === 0);
  return {
    text,
    answers: [...results, ...resumed],
    state: isEmpty ? null : state,
    extras: {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      })),
      instructions: context.length === 0 ? null : toContext(context),
      history: null,
    },
  };
}

/** A yes is `true`, or an object that says `approved: true`; anything else is none. */
export function isYes(answer: Json): boolean {
  return answer === true || (isJsonObject(answer) && answer["approved"] === true);
}

function toContext(context: RunInput["context"]): string {
  const lines = context.map(({ description, value }) => JSON.stringify({ description, value }));
  return `What the application says of where its user is:\n${lines.join("\n")}`;
}
