/**
 * Sessions of older clients (revision 2025-11-25 and before), which say once what they can do.
 *
 * Nothing is kept: the session id is what was said, signed, bound to one principal and one agent (P105). So any isolate
 * serves any request, and a restart ends no session.
 */
import { sign, verify } from "hono/jwt";
import type { Principal } from "#auth/principal.ts";
import type { AgentName } from "#shared/ids.ts";
import type { Clock } from "#ports/clock.ts";
import type { Ids } from "#ports/ids.ts";
import { NO_ABILITIES, toAbilities, type ClientAbilities } from "./call.ts";

export interface SessionDeps {
  /** Null: this deployment begins no sessions, and older clients are asked nothing. */
  readonly secret: string | null;
  readonly clock: Clock;
  readonly ids: Ids;
}
interface Owner {
  readonly principal: Principal;
  readonly agent: AgentName;
}

export const SESSION_HEADER = "mcp-session-id";
const ISSUER = "holdfast";
/** Another audience than that of tokens and tickets: none passes for another. */
const AUDIENCE = "holdfast:mcp-session";
const TTL_SECONDS = 86_400;
const MAX_LENGTH = 1_024;

/** Null where this deployment has no secret to sign with. */
export async function issueSession(
  { secret, clock, ids }: SessionDeps,
  { principal, agent }: Owner,
  capabilities: unknown,
): Promise<string | null> {
  if (secret === null) return null;
  const { elicitation, sampling, roots } = toAbilities(capabilities);
  const exp = Math.floor(clock.now() / 1_000) + TTL_SECONDS;
  const { tenant, id: sub } = principal;
  const able = [elicitation ? "e" : "", sampling ? "s" : "", roots ? "r" : ""].join("");
  const claims = {
    iss: ISSUER,
    aud: AUDIENCE,
    tenant,
    sub,
    agent,
    able,
    exp,
    jti: ids.next("req"),
  };
  return sign(claims, secret, "HS256");
}

/** Null for a session that is over, of another principal, or made up: the client begins a new one. */
export async function readSession(
  { secret, clock }: SessionDeps,
  { principal, agent }: Owner,
  session: string,
): Promise<ClientAbilities | null> {
  if (secret === null) return NO_ABILITIES;
  if (session.length > MAX_LENGTH) return null;
  let claims: { readonly [claim: string]: unknown };
  try {
    // Times are checked against the injected clock, not the host's.
    const own = { exp: false, nbf: false, iat: false };
    claims = await verify(session, secret, { alg: "HS256", iss: ISSUER, aud: AUDIENCE, ...own });
  } catch {
    return null;
  }
  const { tenant, sub, able, exp } = claims;
  if (typeof exp !== "number" || exp * 1_000 <= clock.now() || typeof able !== "string")
    return null;
  if (tenant !== principal.tenant || sub !== principal.id || claims["agent"] !== agent) return null;
  return {
    elicitation: able.includes("e"),
    sampling: able.includes("s"),
    roots: able.includes("r"),
    tasks: false,
  };
}
