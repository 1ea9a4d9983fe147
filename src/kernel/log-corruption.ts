/**
 * LogCorruption: a log holds what a single writer cannot have written (K14).
 *
 * Never repaired: the host opens the thread read-only with this reason.
 */
export type CorruptionReason =
  | "seq_gap"
  | "epoch_regressed"
  | "thread_not_created"
  | "thread_created_twice"
  | "payload_missing"
  | "definition_not_pinned"
  | "input_unknown"
  | "run_already_live"
  | "run_not_live"
  | "run_unnamed"
  | "step_unexpected"
  | "attempt_unexpected"
  | "phase_unexpected"
  | "refs_unknown"
  | "intent_not_open"
  | "intent_still_open"
  | "call_unknown"
  | "call_not_open"
  | "call_already_started"
  | "call_id_repeated"
  | "calls_still_open"
  | "branch_unexpected"
  | "idempotency_key_changed"
  | "approval_not_open"
  | "approval_still_open"
  | "lease_unexpected";

export class LogCorruption extends Error {
  readonly code = "log_corrupt";
  readonly reason: CorruptionReason;
  readonly seq: number;

  constructor(reason: CorruptionReason, seq: number, type: string) {
    super(`the log is corrupt at ${seq} (${type}): ${reason}`);
    this.name = "LogCorruption";
    this.reason = reason;
    this.seq = seq;
  }
}
