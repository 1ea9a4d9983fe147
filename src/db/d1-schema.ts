/** Tables of D1: what must be listed across objects. PERSISTED CONTRACT: migrations/d1 is append-only and matches this. */
import { sql } from "drizzle-orm";
import type { AgentCounter } from "#ports/metrics.ts";
import { check, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const tenants = sqliteTable("tenants", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  /** Fixed at creation; null leaves placement to the platform. */
  jurisdiction: text("jurisdiction"),
  createdAt: integer("created_at").notNull(),
});

export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text("id").primaryKey(),
    tenant: text("tenant")
      .notNull()
      .references(() => tenants.id),
    kind: text("kind", { enum: ["service", "operator"] }).notNull(),
    name: text("name").notNull(),
    /** SHA-256 of the key's text, lower-case hex. */
    hash: text("hash").notNull().unique(),
    /** Separated by single spaces. */
    scopes: text("scopes").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
  },
  (table) => [
    index("api_keys_by_tenant").on(table.tenant),
    check("api_keys_kind", sql`${table.kind} in ('service', 'operator')`),
  ],
);

/** Agents stored over the API. Those of the code are in no table. */
export const agentVersions = sqliteTable(
  "agent_versions",
  {
    tenant: text("tenant").notNull(),
    agent: text("agent").notNull(),
    /** SHA-256 of the canonical manifest. */
    definition: text("definition").notNull(),
    /** Canonical JSON. */
    manifest: text("manifest").notNull(),
    createdAt: integer("created_at").notNull(),
    createdBy: text("created_by").notNull(),
    /** Set on the one version that new runs begin with. */
    promotedAt: integer("promoted_at"),
    retiredAt: integer("retired_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.agent, table.definition] }),
    index("agent_versions_by_age").on(table.tenant, table.agent, table.createdAt),
  ],
);

/** The inbox: which calls wait for a person. What they would do is in the thread's log. */
/** Ids, status and times of runs: what is listed over all threads. */
export const runIndex = sqliteTable(
  "run_index",
  {
    tenant: text("tenant").notNull(),
    run: text("run").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    owner: text("owner").notNull(),
    status: text("status", {
      enum: ["queued", "running", "waiting", "completed", "failed", "cancelled"],
    }).notNull(),
    at: integer("at").notNull(),
    seq: integer("seq").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.run] }),
    index("run_index_by_owner").on(table.tenant, table.agent, table.owner, table.at),
    index("run_index_by_tenant").on(table.tenant, table.agent, table.at),
  ],
);

export const approvals = sqliteTable(
  "approvals",
  {
    tenant: text("tenant").notNull(),
    approval: text("approval").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    owner: text("owner").notNull(),
    run: text("run").notNull(),
    call: text("call").notNull(),
    kind: text("kind", { enum: ["tool", "question", "budget"] }).notNull(),
    tool: text("tool").notNull(),
    requestedAt: integer("requested_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    decision: text("decision", {
      enum: ["approved", "denied", "answered", "expired", "cancelled", "superseded"],
    }),
    decidedBy: text("decided_by"),
    decidedAt: integer("decided_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.approval] }),
    index("approvals_by_owner").on(table.tenant, table.owner, table.requestedAt),
    index("approvals_by_tenant").on(table.tenant, table.requestedAt),
    index("approvals_open")
      .on(table.tenant, table.agent)
      .where(sql`${table.decidedAt} is null`),
  ],
);

export const threads = sqliteTable(
  "threads",
  {
    tenant: text("tenant").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    owner: text("owner").notNull(),
    title: text("title"),
    createdAt: integer("created_at").notNull(),
    lastSeq: integer("last_seq").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.agent, table.thread] }),
    index("threads_by_owner").on(table.tenant, table.owner, table.createdAt),
    index("threads_by_tenant").on(table.tenant, table.createdAt),
  ],
);

/** Signed heads of logs (H2). What a row says is signed; a row that was changed no longer verifies. */
export const anchors = sqliteTable(
  "anchors",
  {
    tenant: text("tenant").notNull(),
    logId: text("log_id").notNull(),
    seq: integer("seq").notNull(),
    agent: text("agent"),
    thread: text("thread"),
    hash: text("hash").notNull(),
    at: integer("at").notNull(),
    keyId: text("key_id").notNull(),
    signature: text("signature").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.logId, table.seq] }),
    index("anchors_by_thread").on(table.tenant, table.agent, table.thread),
  ],
);
/** Sums of what was spent; follows from the logs, and can be computed again from them. */
export const spend = sqliteTable(
  "spend",
  {
    tenant: text("tenant").notNull(),
    /** UTC, `2026-11-30`. */
    day: text("day").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    owner: text("owner").notNull(),
    route: text("route").notNull(),
    tool: text("tool").notNull(),
    kind: text("kind", { enum: ["normal", "recovery", "estimated"] }).notNull(),
    calls: integer("calls").notNull(),
    unpriced: integer("unpriced").notNull(),
    micros: integer("micros").notNull(),
    input: integer("input").notNull(),
    cachedInput: integer("cached_input").notNull(),
    cacheWrite: integer("cache_write").notNull(),
    audioInput: integer("audio_input").notNull(),
    output: integer("output").notNull(),
    reasoning: integer("reasoning").notNull(),
    audioOutput: integer("audio_output").notNull(),
  },
  (table) => [
    primaryKey({
      columns: [
        table.tenant,
        table.day,
        table.agent,
        table.thread,
        table.owner,
        table.route,
        table.tool,
        table.kind,
      ],
    }),
    index("spend_by_owner").on(table.tenant, table.owner, table.day),
    index("spend_by_thread").on(table.tenant, table.agent, table.thread),
  ],
);

/** Up to which seq each log is counted in `spend`; moves in the batch that adds the rows. */
export const spendCursors = sqliteTable(
  "spend_cursors",
  {
    tenant: text("tenant").notNull(),
    log: text("log").notNull(),
    seq: integer("seq").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.log] })],
);

/** A tenant's own prices. What was replaced stays, so that a version in an old event can be looked up. */
export const priceOverrides = sqliteTable(
  "price_overrides",
  {
    tenant: text("tenant").notNull(),
    route: text("route").notNull(),
    /** Of the rates' content. */
    version: text("version").notNull(),
    /** Canonical JSON. */
    rates: text("rates").notNull(),
    createdAt: integer("created_at").notNull(),
    createdBy: text("created_by").notNull(),
    /** Null on the one that holds for its route. */
    retiredAt: integer("retired_at"),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.route, table.version] })],
);

/** Counters over all threads of a tenant; follow from the logs. */
export const metrics = sqliteTable(
  "metrics",
  {
    tenant: text("tenant").notNull(),
    agent: text("agent").notNull(),
    counter: text("counter").$type<AgentCounter["counter"]>().notNull(),
    label: text("label").notNull(),
    value: integer("value").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.agent, table.counter, table.label] })],
);

/** Up to which seq each log is counted in `metrics`; moves in the batch that adds the rows. */
export const metricsCursors = sqliteTable(
  "metrics_cursors",
  {
    tenant: text("tenant").notNull(),
    log: text("log").notNull(),
    seq: integer("seq").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.log] })],
);

/** What each object said last of its wakes and its outbox. */
export const threadHealth = sqliteTable(
  "thread_health",
  {
    tenant: text("tenant").notNull(),
    log: text("log").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    wakes: integer("wakes").notNull(),
    /** Epoch ms divided by 3,600,000. */
    hour: integer("hour").notNull(),
    wakesInHour: integer("wakes_in_hour").notNull(),
    trips: integer("trips").notNull(),
    /** 0 while the breaker is closed. */
    stalledWakes: integer("stalled_wakes").notNull(),
    stalledSince: integer("stalled_since"),
    lagEvents: integer("lag_events").notNull(),
    lagSince: integer("lag_since"),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.log] })],
);

/** Addresses that events come in by. Secrets are sealed. */
export const hooks = sqliteTable(
  "hooks",
  {
    id: text("id").notNull().primaryKey(),
    tenant: text("tenant").notNull(),
    app: text("app").notNull(),
    agent: text("agent").notNull(),
    /** `HookThread` as JSON. */
    thread: text("thread_rule").notNull(),
    scheme: text("scheme").notNull(),
    secret: text("secret").notNull(),
    previous: text("previous"),
    previousUntil: integer("previous_until"),
    createdAt: integer("created_at").notNull(),
    createdBy: text("created_by").notNull(),
  },
  (table) => [index("hooks_tenant").on(table.tenant, table.createdAt)],
);

/** Events that have come, by the hash of the sender's id. Kept `EVENT_DAYS`. */
export const hookEvents = sqliteTable(
  "hook_events",
  {
    tenant: text("tenant").notNull(),
    app: text("app").notNull(),
    event: text("event").notNull(),
    hook: text("hook").notNull(),
    agent: text("agent").notNull(),
    thread: text("thread").notNull(),
    receivedAt: integer("received_at").notNull(),
    delivered: integer("delivered").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.app, table.event] }),
    index("hook_events_received").on(table.receivedAt),
  ],
);

/** Addresses that events go out to. Secrets are sealed. */
export const webhooks = sqliteTable(
  "webhooks",
  {
    tenant: text("tenant").notNull(),
    id: text("id").notNull(),
    url: text("url").notNull(),
    /** Null: all agents. */
    agent: text("agent"),
    /** Separated by blanks. */
    types: text("types").notNull(),
    secret: text("secret").notNull(),
    previous: text("previous"),
    previousUntil: integer("previous_until"),
    disabledAt: integer("disabled_at"),
    disabledReason: text("disabled_reason"),
    /** The first failure since it took something. */
    failingSince: integer("failing_since"),
    createdAt: integer("created_at").notNull(),
    createdBy: text("created_by").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.id] })],
);

/** What goes out, and how far it is. */
export const webhookDeliveries = sqliteTable(
  "webhook_deliveries",
  {
    tenant: text("tenant").notNull(),
    webhook: text("webhook").notNull(),
    /** `webhook-id`: the same in each attempt. */
    message: text("message").notNull(),
    log: text("log").notNull(),
    seq: integer("seq").notNull(),
    type: text("type").notNull(),
    body: text("body").notNull(),
    state: text("state").notNull(),
    attempts: integer("attempts").notNull(),
    /** Null unless it waits. */
    nextAt: integer("next_at"),
    lastStatus: integer("last_status"),
    lastError: text("last_error"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.webhook, table.message] }),
    index("webhook_deliveries_due")
      .on(table.tenant, table.log, table.nextAt)
      .where(sql`next_at IS NOT NULL`),
    index("webhook_deliveries_listed").on(table.tenant, table.webhook, table.createdAt),
  ],
);

/** What a tenant says of retention; an empty agent stands for all that have no row. */
export const retention = sqliteTable(
  "retention",
  {
    tenant: text("tenant").notNull(),
    agent: text("agent").notNull(),
    maxAgeDays: integer("max_age_days"),
    maxEvents: integer("max_events"),
    updatedAt: integer("updated_at").notNull(),
    updatedBy: text("updated_by").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.agent] })],
);
