/** Who acts, and what it may do. Built by `authenticate` only; nothing in a request body can change it. */
import type { Credential } from "#ports/key-store.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import type { PrincipalId, TenantId } from "#shared/ids.ts";

export const SCOPES = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
  "tokens:mint",
  "agents:write",
  "operate",
  "audit",
  "erase",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];

export interface Principal {
  readonly tenant: TenantId;
  readonly kind: "user" | "service" | "operator";
  /** Opaque. Keys are `key_...`, which no user may be called, so one id never names two owners. */
  readonly id: PrincipalId;
  readonly roles: readonly string[];
  readonly scopes: readonly Scope[];
  /** For whom it acts, when that is somebody else. */
  readonly onBehalfOf: PrincipalId | null;
  readonly credential: Credential;
}

const KNOWN: ReadonlySet<string> = new Set(SCOPES);

export function isScope(value: string): value is Scope {
  return KNOWN.has(value);
}

/** Keeps what is known and spells `admin` out, so that every later check is plain membership. */
export function toScopes(stored: readonly string[]): readonly Scope[] {
  return stored.includes("admin") ? SCOPES : stored.filter(isScope);
}

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope);
}

export function toCaller(principal: Principal): Caller {
  const { tenant, kind, id, scopes } = principal;
  return { tenant, kind, id, scopes };
}
