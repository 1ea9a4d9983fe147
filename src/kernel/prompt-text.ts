/**
 * The words that stand in a prompt for an event. Shared by the fold, which weighs them, and the compiler, which sends
 * them. Changing one changes compiled bytes, so raise `COMPILER_VERSION` with it (K11).
 */
import type { PlanItem } from "#ports/tool.ts";
import type { AnswerPart, ThreadEvents } from "./events.ts";

export const ERASED_TEXT = "(erased)";
/** Providers refuse blank parts (K9). */
export const EMPTY_RESULT = "(no output)";
export const EMPTY_MESSAGE = "(empty message)";

export function isBlank(text: string): boolean {
  return text.trim() === "";
}

export function userText(payload: ThreadEvents["input.received"] | null): string {
  if (payload === null) return ERASED_TEXT;
  return isBlank(payload.text) ? EMPTY_MESSAGE : payload.text;
}

export function resultText(payload: ThreadEvents["tool.finished"] | null): string {
  if (payload === null) return ERASED_TEXT;
  return isBlank(payload.result.output) ? EMPTY_RESULT : payload.result.output;
}

export function refusalText(payload: ThreadEvents["tool.refused"] | null): string {
  return payload === null ? ERASED_TEXT : `${payload.refusal.code}: ${payload.refusal.message}`;
}

/** Labelled, so that a model can tell the runtime's words from its user's. */
export function contextText(payload: ThreadEvents["context.added"] | null): string {
  if (payload === null) return ERASED_TEXT;
  return `<runtime-note kind="${payload.kind}">\n${payload.text}\n</runtime-note>`;
}

const MARKS: { readonly [S in PlanItem["status"]]: string } = {
  pending: "[ ]",
  active: "[>]",
  done: "[x]",
  dropped: "[-]",
};

export function planText(payload: ThreadEvents["plan.updated"] | null): string {
  if (payload === null) return ERASED_TEXT;
  const lines = payload.items.map((item) => `${MARKS[item.status]} ${item.text}`);
  return `<runtime-note kind="plan">\nYour plan as you last recorded it:\n${lines.join("\n")}\n</runtime-note>`;
}

/**
 * What the model is shown of its own answer: nothing when there is neither text nor a call (K9). Reasoning without text
 * may still carry a signature that the provider wants back with its calls.
 */
export function shownParts(parts: readonly AnswerPart[]): readonly AnswerPart[] {
  const shown = parts.filter((part) => {
    if (part.type === "call") return true;
    return !isBlank(part.text) || (part.type === "reasoning" && part.meta !== null);
  });
  return shown.some((part) => part.type !== "reasoning") ? shown : [];
}
