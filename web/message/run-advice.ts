/** What became of a run, for a person: what happened, and what can be done. */
import type { Run } from "../api/types.ts";

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
  price_unknown:
    "The price of the model is not known, and the agent's cost is limited. Whoever runs this can set the price.",
  cost_cap: "It reached the agent's limit of cost.",
  token_cap: "It reached the agent's limit of tokens. Ask for a smaller step.",
  recovery_exhausted: "It was interrupted too often without getting further. Answer again.",
  deadline_exceeded: "It took longer than it may. Ask for a smaller step.",
};

export function toAdvice({ status, finish, reason, message }: Run): Advice | null {
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
      return finish === "stop" || finish === null
        ? null
        : { kind: "warn", what: toFinish(finish), next: message ?? "" };
    default:
      return null;
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
