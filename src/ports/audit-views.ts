/** What an auditor is shown of a thread: whether its record holds, and why a run did what it did. */
import type {
  AnswerPart,
  ApprovalDecision,
  ApprovalKind,
  Refusal,
  Reservation,
  ToolResult,
  Verdicts,
} from "#kernel/events.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import type { LogHead } from "./event-log.ts";
import type { FinishReason, ModelRequest, ModelSettings, Usage } from "./model.ts";
import type { ToolEffect } from "./tool.ts";

/** A part of a log, checked. `ok` says that of what was checked nothing is wrong; `next` that there is more. */
export interface VerificationView {
  readonly logId: string;
  readonly ok: boolean;
  readonly base: LogHead;
  readonly head: LogHead;
  /** First and last seq that were checked; `to` below `from` where there is nothing. */
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly erased: number;
  readonly fault: VerificationFault | null;
  readonly anchors: AnchorsView;
  /** Pass as `after` to go on; null at the end. */
  readonly next: number | null;
}
export interface VerificationFault {
  readonly logId: string;
  readonly seq: number;
  /** As `npm run audit:verify` names it. */
  readonly reason: string;
  /** Newest place before it that a signed head confirms. */
  readonly since: number;
}
export interface AnchorsView {
  /** Signed heads that fit the chain, in the part that was checked. */
  readonly verified: number;
  /** Of them, those that lie in one of the two stores only. */
  readonly inOneStore: number;
  readonly newest: {
    readonly seq: number;
    readonly hash: string;
    readonly at: number;
    readonly keyId: string;
  } | null;
  /** False where the deployment has no key: then nothing outside the object speaks for its log. */
  readonly signing: boolean;
}

/** An event, as evidence. */
export interface EventPlace {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
}
/** An event of the run that is neither model call, tool call nor approval: reminders, files, plans, budgets. */
export interface EventNote extends EventPlace {
  readonly type: string;
  readonly payload: Json;
  readonly erased: boolean;
}
export interface CostView {
  /** Null where nobody knew the price (B23): 0 would read as free. */
  readonly micros: number | null;
  readonly kind: "normal" | "recovery" | "estimated" | null;
  readonly priceVersion: string | null;
  readonly leaseId: string | null;
}
/** `intact`: compiling the recorded references again gives the recorded digest. */
export interface PromptView {
  readonly request: ModelRequest;
  readonly digest: string;
  readonly recorded: string;
  readonly intact: boolean;
}
export interface ModelAttemptView extends EventPlace {
  readonly attempt: number;
  readonly definition: string | null;
  readonly route: string;
  readonly settings: ModelSettings;
  readonly verdicts: Verdicts;
  readonly reservation: Reservation;
  /** Null where it cannot be rebuilt, with the reason. */
  readonly prompt: PromptView | null;
  readonly promptMissing: string | null;
  readonly outcome: ModelOutcomeView | null;
}
export interface ModelOutcomeView extends EventPlace {
  readonly status: "answered" | "failed" | "interrupted";
  readonly erased: boolean;
  /** What it chose, as recorded. */
  readonly parts: readonly AnswerPart[];
  readonly finish: FinishReason | null;
  readonly usage: Usage | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly cost: CostView;
}
export interface CallApprovalView {
  readonly approvalId: string;
  readonly kind: ApprovalKind | null;
  readonly requested: EventPlace;
  /** What the person was shown: the arguments that would run, the question, or the budget and what is asked of it. */
  readonly shown: Json;
  readonly decided: EventPlace | null;
  readonly decision: ApprovalDecision | null;
  readonly decidedBy: string | null;
  readonly comment: string | null;
  readonly answer: Json;
  /** Later attempts that changed nothing. */
  readonly refused: readonly (EventPlace & { readonly by: string | null })[];
}
export interface CallAttemptView extends EventPlace {
  readonly attempt: number;
  readonly mode: "execute" | "check" | null;
  readonly effect: ToolEffect | null;
  readonly version: string | null;
  readonly args: JsonObject | null;
  readonly idempotencyKey: string | null;
  readonly verdicts: Verdicts | null;
  readonly reservation: Reservation | null;
  readonly erased: boolean;
  readonly outcome:
    | (EventPlace & {
        readonly status: "finished" | "interrupted" | "late";
        readonly result: ToolResult | null;
        readonly erased: boolean;
        readonly cost: CostView;
      })
    | null;
}
export interface CallView {
  readonly callId: string;
  readonly name: string | null;
  readonly approvals: readonly CallApprovalView[];
  readonly attempts: readonly CallAttemptView[];
  readonly refusal: (EventPlace & { readonly refusal: Refusal | null }) | null;
}
export interface StepView {
  readonly step: number;
  readonly attempts: readonly ModelAttemptView[];
  readonly calls: readonly CallView[];
  /** Asked for at a budget's limit, before the model call of this step (B55). */
  readonly approvals: readonly CallApprovalView[];
  readonly notes: readonly EventNote[];
  /** Sum over the events of the step; recovery is part of it. */
  readonly costMicros: number;
  readonly recoveryMicros: number;
}
export interface ExplanationView {
  readonly logId: string;
  readonly runId: string;
  /** On the first page: the messages that the run answers, and the manifest it was pinned to, unless its event was pruned. */
  readonly inputs: readonly EventNote[];
  readonly pin: (EventPlace & { readonly definition: string; readonly manifest: Json }) | null;
  readonly steps: readonly StepView[];
  /** On the last page: how it ended, and what was recorded of it afterwards. */
  readonly end: EventNote | null;
  readonly later: readonly EventNote[];
  /** Events of this page whose content was erased. */
  readonly erased: number;
  /** Pass as `after` for the next steps; null at the end, or where the run goes on. */
  readonly next: number | null;
}
