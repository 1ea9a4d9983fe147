/**
 * When a failed model attempt is tried again (K6). Pure: the jitter comes from the intent's id, so that two threads
 * that failed together do not return together, and a replay computes the same time.
 */
import type { ModelErrorCode } from "#ports/model.ts";
import type { RetryPolicy } from "./manifest.ts";

export interface FailedAttempt {
  /** Failed attempts of this step, this one included. Interrupted ones are bounded by K15 instead. */
  readonly failures: number;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly intentId: string;
  readonly now: number;
}

/** Never retried, whatever an adapter says: the same request meets the same answer. */
const TERMINAL: ReadonlySet<ModelErrorCode> = new Set([
  "context_overflow",
  "invalid_request",
  "unauthorized",
  "aborted",
]);

/** A provider that asks for more than this is told to the user as unavailable; a run does not sleep for hours. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** Epoch ms of the next attempt, or null when there is none. */
export function retryAt(
  policy: RetryPolicy,
  code: ModelErrorCode,
  attempt: FailedAttempt,
): number | null {
  if (!attempt.retryable || TERMINAL.has(code)) return null;
  if (attempt.failures >= policy.maxAttempts) return null;
  const asked = attempt.retryAfterMs ?? 0;
  if (asked > MAX_RETRY_AFTER_MS) return null;
  const backoff = backoffMs(policy, attempt.failures, attempt.intentId);
  if (asked <= backoff) return attempt.now + backoff;
  // Every agent of one key is told the same time: without a spread they would all be refused together again.
  const spread = Math.max(policy.baseDelayMs, asked / 10) * unitHash(attempt.intentId);
  return attempt.now + Math.ceil(asked + spread);
}

/** base * 2^(n-1), at most `maxDelayMs`, of which the upper half is jitter. */
export function backoffMs(policy: RetryPolicy, failures: number, seed: string): number {
  const full = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.max(0, failures - 1));
  const half = full / 2;
  return Math.round(half + half * unitHash(seed));
}

/** FNV-1a over UTF-16 units, as a fraction of 1. */
function unitHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) / 0x1_0000_0000;
}
