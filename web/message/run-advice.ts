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
  model_rejected: "The model refused the request. Its message says why; another wording may help.",
  model_overflow:
    "The conversation is too long for the model. Clear it and begin with what matters.",
  definition_unavailable:
    "The agent was changed or removed while it worked. Send the message again.",
  tool_unavailable: "A tool it needs is not there any more. Send the message again.",
  step_limit: "It reached its limit of steps. Say “go on” to let it continue.",
  cost_limit: "It reached its limit of cost.",
  token_limit: "It reached its limit of tokens. Say “go on” to let it continue.",
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
    case "refusal":
      return "The model declined to answer.";
    default:
      return `The answer ended early (${finish.replaceAll("_", " ")}).`;
  }
}
