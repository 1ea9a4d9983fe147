/**
 * Composition: which adapter stands behind each port in this deployment. Made once per isolate and environment.
 *
 * Owns no logic. A test build composes the same way with other agents, models and clock (`Overrides`), so nothing in the
 * product asks whether it is being tested (Z6).
 */
import { CachedPromotedAgents } from "#adapters/agent-versions/cached-promoted-agents.ts";
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { R2AnchorCopies } from "#adapters/anchors/r2-anchor-copies.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { D1AgentVersions } from "#adapters/agent-versions/d1-agent-versions.ts";
import { D1ApprovalInbox } from "#adapters/approval-inbox/d1-approval-inbox.ts";
import { createDynamicWorkerSandbox } from "#adapters/sandbox/dynamic-worker-sandbox.ts";
import { createQuickJsSandbox } from "#adapters/sandbox/quickjs-sandbox.ts";
import { loadQuickJsVariant } from "#adapters/sandbox/quickjs-variant-workerd.ts";
import { R2BlobArchive } from "#adapters/blob/r2-blob-archive.ts";
import { SystemClock } from "#adapters/clock/system-clock.ts";
import { CronerCron } from "#adapters/cron/croner-cron.ts";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { D1HookStore } from "#adapters/hooks/d1-hook-store.ts";
import { WebCryptoSecretBox } from "#adapters/secret-box/web-crypto-secret-box.ts";
import type { SecretBox } from "#ports/secret-box.ts";
import { D1Directory } from "#adapters/directory/d1-directory.ts";
import { D1InboxEraser, D1TitleEraser } from "#adapters/erasure/d1-erasers.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import { ZodJsonSchemas } from "#adapters/json-schema/zod-json-schemas.ts";
import { D1KeyStore } from "#adapters/key-store/d1-key-store.ts";
import { createModelDirectory, toModelConfig } from "#adapters/model/model-directory.ts";
import { WorkersAiModel } from "#adapters/model/workers-ai-model.ts";
import { D1MetricsStore } from "#adapters/metrics/d1-metrics.ts";
import { WorkersOAuthServer } from "#adapters/oauth/workers-oauth-server.ts";
import { D1PriceOverrides } from "#adapters/prices/d1-price-overrides.ts";
import { PriceTable } from "#adapters/prices/price-table.ts";
import { ExportWriter } from "#audit/export-writer.ts";
import { toJwk } from "#audit/key-set.ts";
import { D1RetentionPolicies } from "#adapters/retention/d1-retention-policies.ts";
import { D1RunIndex } from "#adapters/run-index/d1-run-index.ts";
import { TenantPriceList } from "#adapters/prices/tenant-price-list.ts";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import { OAUTH_SCOPES } from "#auth/oauth-grants.ts";
import { definitionHash } from "#authoring/define-agent.ts";
import { withPlans } from "#authoring/planned-run.ts";
import { createAgentBuilder, registeredTools } from "#authoring/stored-agent.ts";
import type { LedgerComposition } from "#durable-objects/ledger/composition.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import type { ScopeComposition } from "#durable-objects/memory-object.ts";
import { createApp } from "#http/app.ts";
import { writeLine } from "#observability/write-line.ts";
import { createRequestLog } from "#observability/request-log.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { AgentExports } from "#ports/agent-exports.ts";
import type { Eraser } from "#ports/eraser.ts";
import type { OAuthServer } from "#ports/oauth-server.ts";
import type { SubjectGateway, SubjectStub } from "#ports/subject-gateway.ts";
import type { LedgerGateway, LedgerStub } from "#ports/budget-ledger.ts";
import type { ThreadGateway, ThreadStub } from "#ports/thread-gateway.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import { FetchWebhookSender } from "#adapters/webhook-sender/fetch-webhook-sender.ts";
import { refuseAddress } from "#adapters/webhook-sender/refuse-address.ts";
import { pushProtocol } from "#protocols/a2a/push.ts";
import { socketProtocol } from "#protocols/websocket/encode.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import { LeaseBudget } from "#runner/lease-budget.ts";
import { DEFAULT_IDLE_MS } from "#runner/model-stream.ts";
import { toLedgerName, toObjectName, toSubjectName } from "#shared/ids.ts";
import { parseEnv, type Config, type Env } from "./env.ts";
import { parseSigning } from "./signing-env.ts";

/** A holder that says nothing for so long is asked. Live runs ask by themselves far more often. */
const ASK_AFTER_MS = 120_000;

const NO_EXPORTS: AgentExports = { tools: [], prompts: [], resources: [] };

/** What a test build puts in the place of a deployment's own. */
export type Overrides = Partial<ThreadComposition>;

export function composeThread(
  env: Env,
  agents: readonly AgentDefinition[],
  overrides: Overrides = {},
): ThreadComposition {
  const config = parseEnv(env);
  const ai = env.AI;
  // What a test build replaces, the hooks go by too.
  const { clock = new SystemClock(), ledgers = composeLedgers(env) } = overrides;
  const models = toModelConfig(
    env,
    ai === undefined
      ? null
      : (modelId, route) => new WorkersAiModel({ binding: ai, modelId, route }),
  );
  // Whatever calls an address on a tenant's word.
  const sender = new FetchWebhookSender({ refuse: refuseAddress(config.egress), clock });
  const table = composePriceTable(env);
  const ownPrices = new D1PriceOverrides(env.DB);
  const definitions = new Map(
    resolveAgents(agents, config).map((agent) => [agent.manifest.name, agent]),
  );
  return {
    catalogue: THREAD_CATALOGUE,
    migrations: OBJECT_MIGRATIONS,
    clock,
    cron: new CronerCron(),
    agents: definitions,
    models: withPlans(createModelDirectory(models), definitions),
    sandbox: composeSandbox(env, config),
    schemas: new ZodJsonSchemas(),
    prices: (tenant) => new TenantPriceList({ tenant, table, overrides: ownPrices, clock }),
    hooks: (thread) => ({
      ...DEFAULT_HOOKS,
      budget: new LeaseBudget({ thread, clock, ledger: () => ledgers.ledger(thread.tenant) }),
    }),
    ledgers,
    keys: new D1KeyStore(env.DB),
    directory: new D1Directory(env.DB),
    inbox: new D1ApprovalInbox(env.DB),
    runIndex: new D1RunIndex(env.DB),
    spend: new D1SpendStore(env.DB),
    metrics: new D1MetricsStore(env.DB),
    webhooks: { store: new D1WebhookStore(env.DB), sender, box: composeBox(config) },
    versions: new D1AgentVersions(env.DB),
    retention: new D1RetentionPolicies(env.DB),
    archive: new R2BlobArchive(env.BLOBS),
    erasers: composeErasers(env),
    socketProtocol,
    push: {
      protocol: pushProtocol,
      sender,
    },
    audit: composeAudit(env),
    report: reportIncident,
    idleMs: DEFAULT_IDLE_MS,
    heartbeatMs: config.heartbeatMs,
    ...overrides,
  };
}

function composeAudit(env: Env): ThreadComposition["audit"] {
  return {
    ...parseSigning(env),
    check: new WebCryptoCheck(),
    anchors: new D1AnchorStore(env.DB),
    copies: new R2AnchorCopies(env.BLOBS),
  };
}

/** Of objects that keep what belongs to one user across threads. */
export function composeScope(env: Env): ScopeComposition {
  return {
    directory: new D1Directory(env.DB),
    threads: composeGateway(env),
    erasers: composeErasers(env),
    clock: new SystemClock(),
    report: reportIncident,
    heartbeatMs: parseEnv(env).heartbeatMs,
  };
}

/** A store of content outside the objects joins every erasure by its line here. */
function composeErasers(env: Env): readonly Eraser[] {
  return [new D1TitleEraser(env.DB), new D1InboxEraser(env.DB)];
}

function reportIncident(incident: object): void {
  writeLine(JSON.stringify({ type: "incident", ...incident }));
}

export function composeApp(
  env: Env,
  agents: readonly AgentDefinition[],
): ReturnType<typeof createApp> {
  const config = parseEnv(env);
  const hasher = new NodeHasher();
  const assets = env.ASSETS;
  const { defaultRoute } = config;
  const versions = new D1AgentVersions(env.DB);
  const clock = new SystemClock();
  const signing = parseSigning(env);
  return createApp({
    gateway: composeGateway(env),
    subjects: composeSubjects(env),
    directory: new D1Directory(env.DB),
    inbox: new D1ApprovalInbox(env.DB),
    runIndex: new D1RunIndex(env.DB),
    versions,
    ledgers: composeLedgers(env),
    spend: new D1SpendStore(env.DB),
    metrics: new D1MetricsStore(env.DB),
    hooks: new D1HookStore(env.DB),
    webhooks: new D1WebhookStore(env.DB),
    egress: config.egress,
    box: composeBox(config),
    retention: new D1RetentionPolicies(env.DB),
    prices: { table: composePriceTable(env), overrides: new D1PriceOverrides(env.DB) },
    promoted: new CachedPromotedAgents(versions, clock),
    builder: createAgentBuilder({
      tools: registeredTools(agents),
      defaultRoute,
      hasher,
      cron: new CronerCron(),
    }),
    keys: new D1KeyStore(env.DB),
    tokenSecret: config.tokenSecret,
    allowedOrigins: config.allowedOrigins,
    rates: config.rates,
    oauth: composeOAuth(env, agents),
    agents: resolveAgents(agents, config).map(({ manifest, exports = NO_EXPORTS }) => ({
      manifest,
      exports,
      definition: definitionHash(manifest, hasher),
    })),
    auditExport: new ExportWriter({
      ...signing,
      anchors: new D1AnchorStore(env.DB),
      hasher,
      clock,
    }),
    keySet: { keys: signing.keys.map(toJwk) },
    signer: signing.signer,
    clock,
    ids: new RandomIds(),
    hasher,
    log: createRequestLog(writeLine),
    assets: assets === undefined ? null : (request) => assets.fetch(request),
  });
}

/** Secrets of others are kept under the deployment's own. */
function composeBox({ tokenSecret }: Config): SecretBox | null {
  return tokenSecret === null ? null : new WebCryptoSecretBox(tokenSecret);
}

function composeOAuth(env: Env, agents: readonly AgentDefinition[]): OAuthServer | null {
  const { OAUTH_KV } = env;
  if (OAUTH_KV === undefined) return null;
  const names = agents.map(({ manifest }) => manifest.name);
  return new WorkersOAuthServer({ env: { OAUTH_KV }, agents: names, scopes: OAUTH_SCOPES });
}

function composePriceTable(env: Env): PriceTable {
  const { openaiCompatible } = toModelConfig(env, null);
  return new PriceTable({ openaiCompatibleUrl: openaiCompatible?.baseUrl ?? null });
}

/** The one place that makes a stub of a thread's object. */
function composeGateway(env: Env): ThreadGateway {
  return {
    thread(address) {
      const stub = env.AGENT.get(env.AGENT.idFromName(toObjectName(address)));
      // The class implements ThreadStub; the platform's RPC types cannot say so across the binding.
      return stub as unknown as ThreadStub;
    },
  };
}

/** The one place that makes a stub of a user's scope. */
function composeSubjects(env: Env): SubjectGateway {
  return {
    subject(tenant, subject) {
      const stub = env.MEMORY.get(env.MEMORY.idFromName(toSubjectName({ tenant, subject })));
      // As above.
      return stub as unknown as SubjectStub;
    },
  };
}

/** The one place that makes a stub of a tenant's ledger. */
function composeLedgers(env: Env): LedgerGateway {
  return {
    ledger(tenant) {
      const stub = env.LEDGER.get(env.LEDGER.idFromName(toLedgerName(tenant)));
      // The class implements LedgerStub; the platform's RPC types cannot say so across the binding.
      return stub as unknown as LedgerStub;
    },
  };
}

export function composeLedger(
  env: Env,
  overrides: Partial<LedgerComposition> = {},
): LedgerComposition {
  return {
    migrations: OBJECT_MIGRATIONS,
    clock: new SystemClock(),
    threads: composeGateway(env),
    askAfterMs: ASK_AFTER_MS,
    audit: composeAudit(env),
    report: reportIncident,
    ...overrides,
  };
}

/** A run pins the route it began with, not the word `default` (K18). */
function resolveAgents(
  agents: readonly AgentDefinition[],
  config: Config,
): readonly AgentDefinition[] {
  return agents.map((agent) =>
    agent.manifest.route === "default"
      ? { ...agent, manifest: { ...agent.manifest, route: config.defaultRoute } }
      : agent,
  );
}

function composeSandbox(env: Env, config: Config): Sandbox {
  if (config.sandbox === "dynamic-worker" && env.LOADER !== undefined)
    return createDynamicWorkerSandbox(env.LOADER);
  return createQuickJsSandbox(loadQuickJsVariant);
}
