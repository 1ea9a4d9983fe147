/** The whole HTTP application over fakes, with keys of two tenants, and requests in one line. */
import type { AgentManifest } from "#kernel/manifest.ts";
import type { KeyRecord } from "#ports/key-store.ts";
import type { RequestLogEntry } from "#observability/request-log.ts";
import type { Rates } from "#auth/rate-limits.ts";
import type { TenantId } from "#shared/ids.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { CronerCron } from "#adapters/cron/croner-cron.ts";
import { createAgentBuilder, registeredTools } from "#authoring/stored-agent.ts";
import { CachedPromotedAgents } from "#adapters/agent-versions/cached-promoted-agents.ts";
import { D1AgentVersions } from "#adapters/agent-versions/d1-agent-versions.ts";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { D1HookStore } from "#adapters/hooks/d1-hook-store.ts";
import { WebCryptoSecretBox } from "#adapters/secret-box/web-crypto-secret-box.ts";
import { D1MetricsStore } from "#adapters/metrics/d1-metrics.ts";
import { D1PriceOverrides } from "#adapters/prices/d1-price-overrides.ts";
import { D1RetentionPolicies } from "#adapters/retention/d1-retention-policies.ts";
import { PriceTable } from "#adapters/prices/price-table.ts";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import { createNodeD1 } from "./node-d1.ts";
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { ExportWriter } from "#audit/export-writer.ts";
import { createApp } from "#http/app.ts";
import { trusted } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { FakeSubjects } from "./fake-subjects.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryApprovalInbox } from "./memory-approval-inbox.ts";
import { MemoryRunIndex } from "./memory-run-index.ts";
import { MemoryDirectory } from "./memory-directory.ts";
import { MemoryKeyStore } from "./memory-key-store.ts";
import { NodeLedger } from "./node-ledger.ts";
import { SeededIds } from "./seeded-ids.ts";

export const TOKEN_SECRET = "a secret of tests that is long enough";
const USER_SCOPES = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
];
export const SERVICE_SCOPES = [...USER_SCOPES, "tokens:mint", "audit", "erase", "operate"];

const UNLIMITED: Rates = { requestsPerMinute: null, runsPerMinute: null };

export const MANIFEST: AgentManifest = {
  name: "analyst",
  description: "Answers questions about files.",
  instructions: "The operator's own words.",
  route: "embedded/scripted",
  settings: { maxOutputTokens: 100, temperature: null },
  contextTokens: 1_000,
  limits: { maxSteps: 5, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 5 },
  retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 2 },
  tools: [],
  maxRepairs: 1,
};

export const keyText = (letter: string): string => `hf_${letter.repeat(43)}`;

export function createTestApp(
  options: {
    readonly tokenSecret?: string | null;
    readonly rates?: Rates;
    readonly agents?: readonly AgentDefinition[];
  } = {},
) {
  const { tokenSecret = TOKEN_SECRET, rates = UNLIMITED, agents = [] } = options;
  const gateway = new FakeGateway();
  const subjects = new FakeSubjects();
  const directory = new MemoryDirectory();
  const inbox = new MemoryApprovalInbox();
  const runIndex = new MemoryRunIndex();
  const keys = new MemoryKeyStore();
  const clock = new ManualClock();
  const hasher = new NodeHasher();
  const { d1 } = createNodeD1();
  const versions = new D1AgentVersions(d1);
  const anchors = new D1AnchorStore(d1);
  const ledger = new NodeLedger(clock);
  const ledgers = { ledger: () => ledger };
  const spend = new D1SpendStore(d1);
  const metrics = new D1MetricsStore(d1);
  const hooks = new D1HookStore(d1);
  const overrides = new D1PriceOverrides(d1);
  const builder = createAgentBuilder({
    tools: registeredTools(agents),
    defaultRoute: "embedded/scripted",
    hasher,
    cron: new CronerCron(),
  });
  const logged: RequestLogEntry[] = [];
  const app = createApp({
    gateway,
    subjects,
    directory,
    inbox,
    runIndex,
    versions,
    ledgers,
    spend,
    metrics,
    retention: new D1RetentionPolicies(d1),
    prices: { table: new PriceTable({ openaiCompatibleUrl: null }), overrides },
    promoted: new CachedPromotedAgents(versions, clock),
    builder,
    hooks,
    webhooks: new D1WebhookStore(d1),
    egress: { loopback: false },
    box: tokenSecret === null ? null : new WebCryptoSecretBox(tokenSecret),
    keys,
    clock,
    hasher,
    tokenSecret,
    ids: new SeededIds(),
    agents: [{ definition: "d".repeat(64), manifest: MANIFEST }],
    auditExport: new ExportWriter({ anchors, signer: null, keys: [], hasher, clock }),
    keySet: { keys: [] },
    signer: null,
    assets: null,
    allowedOrigins: ["https://app.example.com"],
    oauth: null,
    rates,
    log: (entry) => logged.push(entry),
  });

  const addKey = (text: string, over: Partial<KeyRecord> = {}): KeyRecord => {
    const record: KeyRecord = {
      id: `key_${text.at(-1)}`,
      tenant: trusted<TenantId>("acme"),
      kind: "service",
      name: "test",
      scopes: SERVICE_SCOPES,
      createdAt: 1,
      expiresAt: null,
      revokedAt: null,
      ...over,
    };
    keys.set(hasher.sha256(utf8(text)), record);
    return record;
  };
  addKey(keyText("a"));
  addKey(keyText("z"), { tenant: trusted<TenantId>("zeta") });

  /** `as` is a credential, or null for none. A plain object becomes a JSON body. */
  const call = (method: string, path: string, init: CallInit = {}): Promise<Response> => {
    const { as = keyText("a"), json, body, headers = {} } = init;
    const all = new Headers(headers);
    if (as !== null) all.set("authorization", `Bearer ${as}`);
    if (json !== undefined) all.set("content-type", "application/json");
    const payload = json === undefined ? body : JSON.stringify(json);
    return Promise.resolve(
      app.request(path, {
        method,
        headers: all,
        ...(payload === undefined ? {} : { body: payload }),
      }),
    );
  };
  const mint = async (
    user: string,
    over: Record<string, unknown> = {},
    as = keyText("a"),
  ): Promise<string> => {
    const response = await call("POST", "/v1/tokens", { as, json: { user, ...over } });
    const { token } = await response.json<{ token: string }>();
    return token;
  };
  return {
    app,
    call,
    mint,
    addKey,
    gateway,
    subjects,
    directory,
    inbox,
    runIndex,
    versions,
    spend,
    metrics,
    hooks,
    overrides,
    keys,
    clock,
    logged,
  };
}

export interface CallInit {
  readonly as?: string | null;
  readonly json?: unknown;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

export const THREAD = "/v1/agents/analyst/threads/t1";

/** A problem's body without what differs from request to request. */
export async function problemOf(response: Response): Promise<Record<string, unknown>> {
  const { requestId: _requestId, ...problem } = await response.json<Record<string, unknown>>();
  return problem;
}
