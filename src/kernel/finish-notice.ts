/**
 * What a user is told about a run that ended without failing, but not with an unqualified answer (K28).
 * Derived from the finish wherever a run is shown; it is no part of the log.
 */
import type { RunFinish } from "./events.ts";

const NOTICES: { readonly [F in Exclude<RunFinish, "stop">]: string } = {
  length: "The answer reached the output limit and was cut off.",
  content_filter: "The model's provider withheld this answer or a part of it (content filter).",
  empty_output: "The model gave no answer.",
  loop_guard: "The run was stopped because it went in circles.",
  step_cap: "The run reached its limit of steps.",
};

/** Null for `stop` and for what is not a finish. */
export function finishNotice(finish: string | null): string | null {
  return finish !== null && isQualified(finish) ? NOTICES[finish] : null;
}

function isQualified(finish: string): finish is keyof typeof NOTICES {
  return Object.hasOwn(NOTICES, finish);
}
