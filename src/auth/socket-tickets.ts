/**
 * Socket tickets: what a browser opens a socket with, because it cannot send a header and a URL is no place for a key.
 *
 * P22 a ticket lives at most 60 s, is bound to one principal and one thread, and opens one socket. It is signed, so that
 * a made-up one wakes no object; the object keeps its hash and who it stands for, and deletes that with the first use.
 */
import { sign, verify } from "hono/jwt";
import type { Clock } from "#ports/clock.ts";
import type { Ids } from "#ports/ids.ts";
import { isTenantId, type TenantId, type ThreadAddress } from "#shared/ids.ts";

export const TICKET_TTL_SECONDS = 60;
const ISSUER = "holdfast";
/** Another audience than that of user tokens: neither passes for the other. */
const AUDIENCE = "holdfast:socket";
const MAX_TICKET_LENGTH = 1_024;

export interface IssuedTicket {
  readonly ticket: string;
  readonly expiresAt: number;
}
export interface SocketTicketsDeps {
  /** Null: this deployment issues no tickets. */
  readonly secret: string | null;
  readonly clock: Clock;
  readonly ids: Ids;
}

export class SocketTickets {
  readonly #deps: SocketTicketsDeps;

  constructor(deps: SocketTicketsDeps) {
    this.#deps = deps;
  }

  /** Null where this deployment has no secret to sign with. */
  async issue({ tenant, agent, thread }: ThreadAddress): Promise<IssuedTicket | null> {
    const { secret, clock, ids } = this.#deps;
    if (secret === null) return null;
    const exp = Math.floor(clock.now() / 1_000) + TICKET_TTL_SECONDS;
    const claims = { iss: ISSUER, aud: AUDIENCE, tenant, agent, thread, exp, jti: ids.next("req") };
    return { ticket: await sign(claims, secret, "HS256"), expiresAt: exp * 1_000 };
  }

  /** The tenant that a ticket of ours for this place names, or null. Who it stands for is the object's to say. */
  async tenantOf(
    ticket: string,
    place: Pick<ThreadAddress, "agent" | "thread">,
  ): Promise<TenantId | null> {
    const { secret, clock } = this.#deps;
    if (secret === null || ticket.length > MAX_TICKET_LENGTH) return null;
    let claims: { readonly [claim: string]: unknown };
    try {
      // Times are checked against the injected clock, not the host's.
      const own = { exp: false, nbf: false, iat: false };
      claims = await verify(ticket, secret, { alg: "HS256", iss: ISSUER, aud: AUDIENCE, ...own });
    } catch {
      return null;
    }
    const { tenant, agent, thread, exp } = claims;
    if (typeof exp !== "number" || exp * 1_000 <= clock.now()) return null;
    if (agent !== place.agent || thread !== place.thread) return null;
    return typeof tenant === "string" && isTenantId(tenant) ? tenant : null;
  }
}
