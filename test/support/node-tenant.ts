/**
 * NodeTenant: hosts of threads in plain Node, as their objects have them, over one D1, one R2 and one store outside. The
 * stores outlive every host; a host lives as long as its process does (`Mortal`).
 */
import type { DatabaseSync } from "node:sqlite";
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { R2AnchorCopies } from "#adapters/anchors/r2-anchor-copies.ts";
import { D1AgentVersions } from "#adapters/agent-versions/d1-agent-versions.ts";
import { D1ApprovalInbox } from "#adapters/approval-inbox/d1-approval-inbox.ts";
import { CronerCron } from "#adapters/cron/croner-cron.ts";
import { D1Directory } from "#adapters/directory/d1-directory.ts";
import { D1InboxEraser, D1TitleEraser } from "#adapters/erasure/d1-erasers.ts";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { ZodJsonSchemas } from "#adapters/json-schema/zod-json-schemas.ts";
import { D1KeyStore } from "#adapters/key-store/d1-key-store.ts";
import { D1MetricsStore } from "#adapters/metrics/d1-metrics.ts";
import { D1RetentionPolicies } from "#adapters/retention/d1-retention-policies.ts";
import { D1RunIndex } from "#adapters/run-index/d1-run-index.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Eraser } from "#ports/eraser.ts";
import type { Model } from "#ports/model.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import { pushProtocol } from "#protocols/a2a/push.ts";
import { socketProtocol } from "#protocols/websocket/encode.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import { trusted, type ThreadAddress } from "#shared/ids.ts";
import { makeKey } from "./audit-kit.ts";
import { copyOf } from "./copy-sqlite.ts";
import { FlakyEraser } from "./flaky-eraser.ts";
import { FREE_PRICES } from "./free-prices.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryBucket } from "./memory-bucket.ts";
import { MemoryReceiver } from "./memory-receiver.ts";
import { mortalD1 } from "./mortal-d1.ts";
import { Mortal } from "./mortal.ts";
import { createNodeD1, nodeD1, type NodeD1 } from "./node-d1.ts";
import { NodeObjectFiles } from "./node-object-storage.ts";

export const TENANT = "acme";

export interface TenantParts {
  readonly agents: readonly AgentDefinition[];
  readonly model: Model;
}

export class NodeTenant {
  readonly clock = new ManualClock();
  readonly archived = new Map<string, Uint8Array>();
  readonly bucket = new MemoryBucket();
  readonly vectors = new FlakyEraser("vectors");
  readonly d1: NodeD1;
  readonly #key = makeKey(this.clock.now());
  readonly #objects = new Map<string, NodeObjectFiles>();
  readonly #parts: TenantParts;

  constructor(parts: TenantParts, d1: NodeD1 = createNodeD1()) {
    this.#parts = parts;
    this.d1 = d1;
  }

  /** Another tenant that has gone exactly as far. */
  copy(): NodeTenant {
    const copy = new NodeTenant(this.#parts, nodeD1(copyOf(this.d1.sqlite)));
    copy.clock.set(this.clock.now());
    for (const [key, content] of this.archived) copy.archived.set(key, content);
    for (const [key, metadata] of this.bucket.objects) copy.bucket.objects.set(key, metadata);
    for (const [key, held] of this.vectors.held) copy.vectors.held.set(key, held);
    for (const [name, files] of this.#objects) copy.#objects.set(name, files.copy());
    return copy;
  }

  address(agent: string, thread: string): ThreadAddress {
    return { tenant: trusted(TENANT), agent: trusted(agent), thread: trusted(thread) };
  }

  /** Names of what is stored anywhere with these words in it. */
  placesOf(words: string): readonly string[] {
    const objects = [...this.#objects].flatMap(([name, { sqlite }]) =>
      tablesWith(sqlite, words).map((table) => `${name} ${table}`),
    );
    const d1 = tablesWith(this.d1.sqlite, words).map((table) => `D1 ${table}`);
    const archived = [...this.archived.values()].some((content) => holds(content, words));
    return [...objects, ...d1, ...(archived ? ["R2"] : [])];
  }

  /** As the gateway does before a thread's first command. */
  async register(
    address: ThreadAddress,
    { owner, title }: { readonly owner: string; readonly title: string },
  ): Promise<void> {
    const at = this.clock.now();
    const record = { ...address, owner, title, createdAt: at, lastSeq: 0, updatedAt: at };
    await new D1Directory(this.d1.d1).register(record);
  }

  object(name: string): NodeObjectFiles {
    const files = this.#objects.get(name) ?? new NodeObjectFiles();
    this.#objects.set(name, files);
    return files;
  }

  open(address: ThreadAddress, life: Mortal = new Mortal()): ThreadHost {
    const files = this.object(`${address.agent}/${address.thread}`);
    return new ThreadHost(address, files.open(life), this.compose(life));
  }

  /** Stores of erasures outside the object. */
  erasers(life: Mortal): readonly Eraser[] {
    const d1 = mortalD1(this.d1.d1, life);
    const { vectors } = this;
    return [
      new D1TitleEraser(d1),
      new D1InboxEraser(d1),
      {
        store: vectors.store,
        count: (scope) => vectors.count(scope),
        erase: (scope) => life.call("vectors", () => vectors.erase(scope)),
      },
    ];
  }

  compose(life: Mortal): ThreadComposition {
    const d1 = mortalD1(this.d1.d1, life);
    const { clock, archived } = this;
    const sender = new MemoryReceiver();
    return {
      catalogue: THREAD_CATALOGUE,
      migrations: OBJECT_MIGRATIONS,
      clock,
      cron: new CronerCron(),
      agents: new Map(this.#parts.agents.map((agent) => [agent.manifest.name, agent])),
      models: { resolve: () => this.#parts.model },
      sandbox: { id: "none", run: () => Promise.reject(new Error("no sandbox in this test")) },
      schemas: new ZodJsonSchemas(),
      prices: () => FREE_PRICES,
      hooks: () => DEFAULT_HOOKS,
      ledgers: {
        ledger: () => {
          throw new Error("no ledger in this test");
        },
      },
      keys: new D1KeyStore(d1),
      directory: new D1Directory(d1),
      inbox: new D1ApprovalInbox(d1),
      runIndex: new D1RunIndex(d1),
      spend: new D1SpendStore(d1),
      metrics: new D1MetricsStore(d1),
      webhooks: { store: new D1WebhookStore(d1), box: null, sender },
      versions: new D1AgentVersions(d1),
      retention: new D1RetentionPolicies(d1),
      archive: {
        put: (key, content) =>
          life.call("R2 put", async () => void archived.set(key, content.slice())),
        delete: (keys) =>
          life.call("R2 delete", async () => keys.forEach((key) => archived.delete(key))),
      },
      erasers: this.erasers(life),
      socketProtocol,
      push: { sender, protocol: pushProtocol },
      audit: {
        signer: this.#key.signer,
        keys: [this.#key.key],
        check: new WebCryptoCheck(),
        anchors: new D1AnchorStore(d1),
        copies: new R2AnchorCopies(this.bucket),
      },
      report: () => undefined,
      idleMs: 60_000,
      heartbeatMs: 20_000,
    };
  }
}

export const OWNER: Caller = {
  tenant: trusted(TENANT),
  kind: "user",
  id: trusted("usr_1"),
  scopes: ["threads:read", "threads:write", "erase"],
};

function tablesWith(sqlite: DatabaseSync, words: string): readonly string[] {
  const tables = sqlite.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return tables
    .map(({ name }) => String(name))
    .filter((name) =>
      sqlite
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .some((row) => Object.values(row).some((value) => holds(value, words))),
    );
}

function holds(value: unknown, words: string): boolean {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value).includes(words);
  return typeof value === "string" && value.includes(words);
}
