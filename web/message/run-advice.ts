/** What became of a run, for a person: what happened, and what can be done. */
import type { Run } from "#client/types.ts";

export interface Advice {
  readonly kind: "error" | "warn" | "info";
  readonly what: string;
  readonly next: string;
}

/** By the reason of a failure; what is not here shows the server's own message. */
const FAILURES: { readonly [reason: string]: string } = {
  model_unavailable: "The model could not be reached. Check its server, then answer again.",
  model_failed: "Answer again; if it stays like this, ask whoever runs the model.",
  model_rejected: "The model refused the request. Another wording may help.",
  context_overflow:
    "The conversation is too long for the model. Clear it and begin with what matters.",
  definition_unavailable:
    "The agent was changed or removed while it worked. Send the message again.",
  cost_cap: "It reached the agent's limit of cost. Ask for a smaller step.",
  price_unknown: "Nothing was spent. Once an operator has done so, answer again.",
  budget_exceeded:
    "Nothing was spent on this call. Answer again when it has reset, or ask an operator to raise the budget.",
  token_cap: "It reached the agent's limit of tokens. Ask for a smaller step.",
  recovery_exhausted: "It was interrupted too often without getting further. Answer again.",
  deadline_exceeded: "It took longer than it may. Ask for a smaller step.",
};

export function toAdvice({ status, finish, reason, message, loop }: Run): Advice | null {
  switch (status) {
    case "failed": {
      const known = reason === null ? undefined : FAILURES[reason];
      const next = [message, known].filter(
        (text) => text !== null && text !== undefined && text !== "",
      );
      return { kind: "error", what: "The run failed.", next: next.join(" ") || "Answer again." };
    }
    case "cancelled":
      return {
        kind: "info",
        what: "Stopped.",
        next: "What it had done is kept. Answer again, or go on.",
      };
    case "queued":
      return {
        kind: "info",
        what: "In the queue.",
        next: "It begins when the run before it has ended.",
      };
    case "completed":
      if (finish === "loop_guard" && loop !== null) return toLoopAdvice(loop);
      return finish === "stop" || finish === null
        ? null
        : { kind: "warn", what: toFinish(finish), next: message ?? "" };
    default:
      return null;
  }
}

/** Which pattern, of what, how often (B4). */
function toLoopAdvice(loop: NonNullable<Run["loop"]>): Advice {
  return {
    kind: "warn",
    what: "The loop guard stopped it.",
    next: `${toPattern(loop)} Say what it should try instead, or what it may be missing.`,
  };
}

function toPattern({ pattern, tool, count }: NonNullable<Run["loop"]>): string {
  switch (pattern) {
    case "repeat":
      return `It made the same call of ${tool} ${count} times, with the same result each time.`;
    case "cycle_2":
      return `It made the same two calls in turn, ${count} calls in all, with the same results; the last was ${tool}.`;
    case "cycle_3":
      return `It made the same three calls in turn, ${count} calls in all, with the same results; the last was ${tool}.`;
    case "no_progress":
      return `Its last ${count} calls brought nothing new; the last was ${tool}.`;
    case "unknown_tools":
      return `In ${count} steps in a row it called only tools that do not exist; the last was ${tool}.`;
  }
}

function toFinish(finish: string): string {
  switch (finish) {
    case "length":
      return "The answer was cut off at the model's limit.";
    case "content_filter":
      return "The model's provider withheld some of the answer.";
    case "step_cap":
      return "It stopped at its limit of steps. Say “go on” to let it continue.";
    case "loop_guard":
      return "It stopped because it repeated itself without getting further.";
    case "refusal":
      return "The model declined to answer.";
    default:
      return `The answer ended early (${finish.replaceAll("_", " ")}).`;
  }
}
