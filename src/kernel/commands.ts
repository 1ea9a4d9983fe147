/**
 * Commands: what may be asked of a thread from outside. Every protocol decodes into these.
 *
 * A command is acknowledged only after its events are durable (K1). The same key again returns the first receipt (K2);
 * the same key with another body is refused (`idempotency_conflict`).
 */
import type { Json } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { PlanItem } from "#ports/tool.ts";
import type {
  ApprovalKind,
  ApprovalRefusalReason,
  BranchReason,
  DecisionVerb,
  Delivery,
  ErasedStore,
  KeptRun,
  ThreadEvents,
  Settlement,
  ThreadDraft,
  ThreadEvent,
} from "./events.ts";
import type { AgentManifest } from "./manifest.ts";
import type { ScheduleCommand, ScheduleRejection } from "./schedule-events.ts";
import type { WindowEntry } from "./state.ts";

export interface CommandContext {
  /** Opaque id of who asks. */
  readonly actor: string;
  readonly idempotencyKey: string | null;
  /** SHA-256 of the canonical command body, compared when a key comes again. */
  readonly bodyDigest: string;
}

export type ThreadCommand =
  | ScheduleCommand
  | { readonly type: "create_thread"; readonly owner: string; readonly title: string | null }
  | {
      readonly type: "send_message";
      readonly messageId: string;
      readonly runId: string;
      readonly text: string;
      readonly delivery: Delivery;
      readonly output: OutputSpec | null;
      /** The agent's own, where the message brings none: it keeps no message from joining a run. Absent: none. */
      readonly defaultOutput?: OutputSpec | null;
      /** The agent as registered now; the run that starts is pinned to it. */
      readonly manifest: AgentManifest;
      readonly definition: string;
      /** Its run is not the agent's ordinary one: it joins no other. Absent: it may. */
      readonly separate?: boolean;
      /** Label of where it came from, outside of the tenant: it waits behind everything, and joins nothing. Absent: a caller. */
      readonly outside?: string | null;
      /** Put before the message; refused as `run_active` while a run is live. Absent: nothing. */
      readonly history?: string | null;
    }
  | { readonly type: "halt_thread"; readonly reason: string; readonly at: number }
  | { readonly type: "resume_thread"; readonly reason: string | null }
  | { readonly type: "cancel_run"; readonly runId: string; readonly reason: string }
  | {
      readonly type: "start_branch";
      readonly branch: string;
      readonly reason: BranchReason;
      /** Where it begins, read from the log by the host. */
      readonly point: BranchPoint;
      /** What the branch begins with; null for an empty one. */
      readonly run: BranchRun | null;
    }
  | { readonly type: "select_branch"; readonly branch: string; readonly window: KeptWindow }
  /** An answer has been checked against the question's schema by the host. */
  | {
      readonly type: "decide_approval";
      readonly approvalId: string;
      readonly decision: DecisionVerb;
      readonly comment: string | null;
      readonly answer: Json;
      readonly messageId: string | null;
      /** Epoch ms: after `expiresAt` nothing is approved, even where the expiry is not recorded yet. */
      readonly at: number;
    }
  /** Records an attempt that came after the decision; the host knows the decision. */
  | {
      readonly type: "refuse_approval";
      readonly approvalId: string;
      readonly attempted: DecisionVerb;
      readonly refusal: ApprovalRefusalReason;
    }
  | {
      readonly type: "request_erasure";
      /** Null: the whole thread. */
      readonly runId: string | null;
      readonly origin: string | null;
    }
  /** The host has reached every store. */
  | {
      readonly type: "complete_erasure";
      readonly erasureId: string;
      readonly stores: readonly ErasedStore[];
      readonly wiped: ThreadEvents["erasure.completed"]["wiped"];
      readonly kept: readonly KeptRun[];
    }
  /** The outcome is read from the log, and `after` priced, by the host. */
  | {
      readonly type: "correct_usage";
      readonly outcome: ThreadEvent;
      readonly after: Settlement;
      readonly priceVersion: string | null;
    }
  /** The ledger asked about a lease that this log does not hold (B46). */
  | { readonly type: "decline_lease"; readonly leaseId: string }
  | { readonly type: "set_state"; readonly state: Json; readonly bytes: number }
  /** The content's chunks are stored by the host in the same transaction. */
  | {
      readonly type: "write_file";
      readonly path: string;
      readonly digest: string;
      readonly bytes: number;
    }
  | { readonly type: "delete_file"; readonly path: string };

/** A window read from the log. The plan lies apart: it is repeated as an event of its own. */
export interface KeptWindow {
  readonly entries: readonly WindowEntry[];
  readonly plan: readonly PlanItem[];
}
export interface BranchPoint extends KeptWindow {
  readonly parent: string;
  readonly keepTo: number;
  readonly without: readonly number[];
}
/** The first run of a branch: a new message, or where `seq` is given the one that lies there, once more. */
export interface BranchRun {
  readonly runId: string;
  readonly messageId: string;
  readonly output: OutputSpec | null;
  readonly text: string;
  readonly seq: number | null;
  readonly manifest: AgentManifest;
  readonly definition: string;
}

export interface Receipt {
  /** Seq of the last event of the command. */
  readonly seq: number;
  readonly runId: string | null;
  readonly messageId: string | null;
  /** `steered`: the message joins the running run instead of starting one. */
  readonly disposition: "started" | "queued" | "steered" | "recorded" | "unchanged";
  /** The branch that a command on branches began or chose. */
  readonly branch?: string;
}

export type Rejection =
  | ScheduleRejection
  | { readonly reason: "thread_exists" }
  | { readonly reason: "thread_missing" }
  /** Delivery `reject`, or a change of branch, while a run is live. */
  | { readonly reason: "run_active"; readonly runId: string }
  /** An operator's stop: what would begin work is refused, so that nothing piles up behind it (B12). */
  | { readonly reason: "thread_halted"; readonly since: number }
  | { readonly reason: "run_unknown"; readonly runId: string }
  | { readonly reason: "run_not_active"; readonly runId: string; readonly status: string }
  | { readonly reason: "queue_full"; readonly limit: number }
  | { readonly reason: "state_too_large"; readonly limit: number; readonly bytes: number }
  | { readonly reason: "message_empty" }
  /** Of the thread, while it is being erased; of an erasure, while another is under way. */
  | { readonly reason: "erasure_active"; readonly erasureId: string }
  /** No message of this id that a prompt has held. */
  | { readonly reason: "message_unknown" }
  | { readonly reason: "branch_unknown" }
  /** Not the outcome of a model call. */
  | { readonly reason: "usage_unknown" }
  /** The provider said already what this attempt used. */
  | { readonly reason: "usage_final" }
  /** It had a price when it was made, and its route has none now. */
  | { readonly reason: "usage_unpriced" }
  | { readonly reason: "file_missing"; readonly path: string }
  /** Not open in this state: decided already, or never asked. The host tells them apart. */
  | { readonly reason: "approval_not_open"; readonly approvalId: string }
  | { readonly reason: "approval_overdue"; readonly approvalId: string }
  /** A question is answered or denied, a call approved or denied. */
  | { readonly reason: "decision_misfit"; readonly kind: ApprovalKind };

/** What a command becomes: events, and what its sender is told. */
export type Decided = Result<
  { readonly drafts: readonly ThreadDraft[]; readonly receipt: Omit<Receipt, "seq"> },
  Rejection
>;
