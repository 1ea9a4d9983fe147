/**
 * Standing: whether what somebody was let in with still holds, judged anew from the key that it rests on.
 *
 * A socket outlives the request that opened it. What it may do is never wider than at its opening, and shrinks with its
 * key: revoked, expired or narrowed (Z1, Z2, P37).
 */
import type { Credential, KeyRecord } from "#ports/key-store.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import { err, ok, type Result } from "#shared/result.ts";

/** `expired` was good until its time and may be had anew; `revoked` may not. */
export type StandingLost = "expired" | "revoked";

export function judgeStanding(
  caller: Caller,
  credential: Credential,
  { key, now }: { readonly key: KeyRecord | null; readonly now: number },
): Result<Caller, StandingLost> {
  if (key === null || key.revokedAt !== null || key.tenant !== caller.tenant) return err("revoked");
  const holds = (scope: string): boolean =>
    key.scopes.includes(scope) || key.scopes.includes("admin");
  // A minter that may no longer mint no longer vouches either.
  if (caller.kind === "user" && !holds("tokens:mint")) return err("revoked");
  if (isOver(credential.expiresAt, now) || isOver(key.expiresAt, now)) return err("expired");
  const scopes = caller.scopes.filter(holds);
  // Without it no socket would have opened.
  if (!scopes.includes("threads:write")) return err("revoked");
  return ok(scopes.length === caller.scopes.length ? caller : { ...caller, scopes });
}

function isOver(expiresAt: number | null, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
