/**
 * Effects: what the kernel asks for next. `record` stays inside the object; the others leave it, through the gate.
 */
import type { ModelSettings, OutputSpec } from "#ports/model.ts";
import type {
  LoopReport,
  PromptRef,
  PromptRefs,
  Reservation,
  RunFinish,
  ThreadDraft,
} from "./events.ts";
import type { GivenApproval } from "./state.ts";

export type Effect =
  /** Bookkeeping that needs no outside: appended as it is. */
  | { readonly type: "record"; readonly drafts: readonly ThreadDraft[] }
  | CallModel
  | CallTool
  | CompleteRun
  /** Nothing to do before this time (epoch ms). */
  | { readonly type: "wait_until"; readonly at: number };

/** Final text and output are read from the log by the runner, then `run.completed` is appended. */
export interface CompleteRun {
  readonly type: "complete_run";
  readonly runId: string;
  readonly definition: string;
  readonly finish: RunFinish;
  /** The `model.answered` whose text and output the run ends with; null when no answer had any. */
  readonly answerSeq: number | null;
  /** Of finish `loop_guard`: what went in circles. */
  readonly loop?: LoopReport;
}
export interface CallModel {
  readonly type: "call_model";
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly definition: string;
  readonly route: string;
  readonly settings: ModelSettings;
  readonly output: OutputSpec | null;
  readonly refs: PromptRefs;
  /** `refs` resolved: the whole ordered list. */
  readonly window: readonly PromptRef[];
  readonly steered: readonly number[];
  readonly inputTokens: number;
  readonly reservation: Reservation;
  /** This attempt repeats one that the process did not survive: its cost is `recovery` (G12). */
  readonly recovery: boolean;
  /** The person's yes to more of a budget, under which it is made; null when none was asked for (B55). */
  readonly grant: GivenApproval | null;
}
export interface CallTool {
  readonly type: "call_tool";
  readonly runId: string;
  readonly step: number;
  readonly callId: string;
  readonly attempt: number;
  readonly definition: string;
  readonly name: string;
  /** Where the arguments lie: part `argsPart` of the answer at `answerSeq`. */
  readonly answerSeq: number;
  readonly argsPart: number;
  readonly mode: "execute" | "check";
  /** Null on the first attempt: the gate mints it with the intent. */
  readonly idempotencyKey: string | null;
  /** The person's yes under which it runs; null when none was asked for. */
  readonly approval: GivenApproval | null;
  readonly recovery: boolean;
}
