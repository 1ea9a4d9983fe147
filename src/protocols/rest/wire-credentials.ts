/** Documents of credentials: user tokens, socket tickets, and who a credential is. As in ./wire.ts (P5). */
import { z } from "@hono/zod-openapi";
import { SCOPES } from "#auth/principal.ts";
import { AgentParams, Millis, ThreadParams, TOKEN_RULE } from "./wire.ts";

export const MintTokenBody = z
  .strictObject({
    user: z
      .string()
      .openapi({ description: `Opaque id of the user: ${TOKEN_RULE}; not starting with key_.` }),
    ttlSeconds: z.int().min(1).max(3_600).default(900),
    scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).optional(),
  })
  .openapi("MintToken");

export const IssueTicketBody = z
  .strictObject({ agent: AgentParams.shape.agent, thread: ThreadParams.shape.thread })
  .openapi("IssueTicket");
export const TicketDoc = z
  .object({
    ticket: z.string().openapi({ description: "Sent once, as `?ticket=` of the socket's URL." }),
    expiresAt: z.int(),
  })
  .openapi("Ticket");

export const TokenDoc = z
  .object({
    token: z.string(),
    user: z.string(),
    expiresAt: Millis,
    scopes: z.array(z.enum(SCOPES)),
  })
  .openapi("Token");
export const PrincipalDoc = z
  .object({
    tenant: z.string(),
    kind: z.enum(["user", "service", "operator"]),
    id: z.string(),
    scopes: z.array(z.enum(SCOPES)),
  })
  .openapi("Principal");
