/** How a run ends well: its final text and output are read from the answer that the kernel names. */
import type { CompleteRun } from "#kernel/effects.ts";
import type { ThreadDraft, ThreadEvent } from "#kernel/events.ts";

/** An erased answer leaves an empty text: the run still ends, and tells nothing that may not be told. */
export function completeRun(
  effect: CompleteRun,
  eventAt: (seq: number) => ThreadEvent,
): ThreadDraft {
  const { runId, definition, finish, answerSeq, loop } = effect;
  const answer = answerSeq === null ? null : eventAt(answerSeq);
  const payload = answer?.type === "model.answered" ? answer.payload : null;
  const text = payload?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
  const output = payload?.output?.ok === true ? payload.output.value : null;
  return {
    type: "run.completed",
    payload: { finish, text, output, ...(loop === undefined ? {} : { loop }) },
    scope: { run: runId, definition },
  };
}
