/** What REST handlers are given: by the app once, and by the middleware per request. */
import type { AgentExports } from "#ports/agent-exports.ts";
import type { Context } from "hono";
import type { Auth } from "#auth/authenticate.ts";
import type { Principal } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { SocketTickets } from "#auth/socket-tickets.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import type { AgentBuilder, AgentVersions, PromotedAgents } from "#ports/agent-versions.ts";
import type { ApprovalInbox } from "#ports/approval-inbox.ts";
import type { AuditExport } from "#ports/audit-export.ts";
import type { LedgerGateway } from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type { Directory } from "#ports/directory.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { HookStore } from "#ports/hook-store.ts";
import type { SecretBox } from "#ports/secret-box.ts";
import type { Ids } from "#ports/ids.ts";
import type { MetricsStore } from "#ports/metrics.ts";
import type { SubjectGateway } from "#ports/subject-gateway.ts";
import type { PriceOverrides } from "#ports/price-overrides.ts";
import type { Prices } from "#ports/prices.ts";
import type { RetentionPolicies } from "#ports/retention-policies.ts";
import type { SpendStore } from "#ports/spend.ts";
import type { Failure, Reply } from "#ports/thread-gateway.ts";
import type { WebhookStore } from "#ports/webhook-store.ts";
import type { EgressRules } from "#shared/egress-address.ts";
import type { ErrorCode } from "#shared/errors.ts";
import type { ProblemOptions } from "./errors.ts";
import { problemResponse } from "./errors.ts";

/** An agent of this deployment, as code has it now. */
export interface AgentEntry {
  /** SHA-256 of the canonical manifest. */
  readonly definition: string;
  readonly manifest: AgentManifest;
  /** What it shows over MCP. Absent: nothing. */
  readonly exports?: AgentExports;
}

export interface RestDeps {
  readonly threads: ThreadAccess;
  readonly subjects: SubjectGateway;
  readonly directory: Directory;
  readonly inbox: ApprovalInbox;
  readonly ledgers: LedgerGateway;
  readonly spend: Pick<SpendStore, "sum">;
  readonly metrics: Pick<MetricsStore, "read">;
  readonly prices: {
    readonly table: Prices & { readonly version: string };
    readonly overrides: PriceOverrides;
  };
  readonly retention: RetentionPolicies;
  readonly userTokens: Auth["userTokens"];
  readonly tickets: SocketTickets;
  readonly limits: RateLimits;
  /** Those of the code. */
  readonly agents: readonly AgentEntry[];
  readonly versions: AgentVersions;
  readonly promoted: PromotedAgents;
  readonly builder: AgentBuilder;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hasher: Hasher;
  readonly hooks: HookStore;
  readonly webhooks: WebhookStore;
  /** Where requests on a tenant's word may go. */
  readonly egress: EgressRules;
  /** Null: this deployment keeps no secrets of others. */
  readonly box: SecretBox | null;
  readonly auditExport: AuditExport;
}

export type RestEnv = {
  Variables: {
    requestId: string;
    /** Unset until authentication. */
    principal: Principal | undefined;
    /** Pattern of the matched route, for the log. */
    route: string | undefined;
    /** Code of the problem that was answered, for the log. */
    errorCode: ErrorCode | undefined;
    /** Why, in words that only the operator sees. */
    errorReason: string | undefined;
  };
};
export type RestContext = Context<RestEnv>;

export function refuse(
  c: RestContext,
  failed: Failure,
  options: Omit<ProblemOptions, "requestId"> = {},
): Response {
  c.set("errorCode", failed.code);
  return problemResponse(failed, { requestId: c.get("requestId"), ...options });
}

/** A reply of the thread as JSON, or its failure as a problem. */
export function answer<T>(
  c: RestContext,
  reply: Reply<T>,
  encode: (value: T) => unknown,
): Response {
  return reply.ok ? Response.json(encode(reply.value)) : refuse(c, reply.error);
}
