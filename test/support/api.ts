/**
 * Api: the public way in, for tests inside workerd: HTTP requests to the Worker as a client makes them, with keys that
 * lie hashed in D1 as real ones do.
 */
import { env, exports } from "cloudflare:workers";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { utf8, type Json } from "#shared/json.ts";
import type { RunView } from "#ports/thread-gateway.ts";
import directorySql from "../../migrations/d1/0000_directory.sql?raw";
import approvalsSql from "../../migrations/d1/0001_approvals.sql?raw";
import agentVersionsSql from "../../migrations/d1/0002_agent_versions.sql?raw";
import anchorsSql from "../../migrations/d1/0003_anchors.sql?raw";
import spendSql from "../../migrations/d1/0004_spend.sql?raw";
import metricsSql from "../../migrations/d1/0005_metrics.sql?raw";
import runIndexSql from "../../migrations/d1/0006_run_index.sql?raw";
import hooksSql from "../../migrations/d1/0007_hooks.sql?raw";
import webhooksSql from "../../migrations/d1/0008_webhooks.sql?raw";
import retentionSql from "../../migrations/d1/0009_retention.sql?raw";

interface ApiEnv {
  readonly DB: D1Database;
}
const DEADLINE_MS = 20_000;
const SERVICE_SCOPES = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
  "tokens:mint",
  "audit",
  "erase",
  "operate",
];

export interface Reply<T = Json> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export class Api {
  readonly key: string;

  private constructor(key: string) {
    this.key = key;
  }

  /** A client with a service key of `tenant`; makes the tables of D1 on first use. */
  static async service(tenant: string, scopes: readonly string[] = SERVICE_SCOPES): Promise<Api> {
    const { DB } = env as unknown as ApiEnv;
    await createTables(DB);
    const key = `hf_${toBase64Url(crypto.getRandomValues(new Uint8Array(32)))}`;
    const hash = new NodeHasher().sha256(utf8(key));
    await DB.prepare("INSERT OR IGNORE INTO tenants (id, name, created_at) VALUES (?, ?, ?)")
      .bind(tenant, tenant, Date.now())
      .run();
    await DB.prepare(
      "INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at) VALUES (?, ?, 'service', 'test', ?, ?, ?)",
    )
      .bind(crypto.randomUUID(), tenant, hash, scopes.join(" "), Date.now())
      .run();
    return new Api(key);
  }

  /** A client with a token that this service key minted for `user`. */
  async user(user: string): Promise<Api> {
    const minted = await this.json<{ token: string }>("POST", "/v1/tokens", { user });
    if (minted.status >= 300) throw new Error(JSON.stringify(minted.body));
    return new Api(minted.body.token);
  }

  fetch(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${this.key}`);
    const worker = exports as unknown as {
      readonly default: { fetch(url: string, init: RequestInit): Promise<Response> };
    };
    return worker.default.fetch(`https://holdfast.test${path}`, { ...init, method, headers });
  }

  async json<T = Json>(
    method: string,
    path: string,
    body?: Json,
    headers: Record<string, string> = {},
  ): Promise<Reply<T>> {
    const response = await this.fetch(method, path, {
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? null : JSON.parse(text)) as T,
    };
  }

  /** Sends and answers the run's id. */
  async send(thread: string, text: string, more: Record<string, Json> = {}): Promise<string> {
    const reply = await this.json<{ runId: string }>("POST", `${thread}/messages`, {
      text,
      ...more,
    });
    if (reply.status !== 202) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body.runId;
  }

  /** Polls until the run has ended. */
  async ended(thread: string, runId: string): Promise<RunView> {
    return this.until(async () => {
      const reply = await this.json<RunView>("GET", `${thread}/runs/${runId}`);
      return reply.status === 200 && reply.body.endedAt !== null ? reply.body : null;
    });
  }

  async until<T>(read: () => Promise<T | null>): Promise<T> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const value = await read();
      if (value !== null) return value;
      if (Date.now() > deadline) throw new Error("the condition did not come true in time");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** Address of a thread under the API. */
export function threadPath(agent: string, thread: string): string {
  return `/v1/agents/${agent}/threads/${thread}`;
}

/** Storage is isolated per test file, so each file makes its own. */
async function createTables(database: D1Database): Promise<void> {
  const present = await database
    .prepare("SELECT 1 FROM sqlite_master WHERE name = 'api_keys'")
    .first();
  if (present !== null) return;
  const statements =
    `${directorySql}${approvalsSql}${agentVersionsSql}${anchorsSql}${spendSql}${metricsSql}${runIndexSql}${hooksSql}${webhooksSql}${retentionSql}`
      .split(";")
      .map((statement) => statement.trim())
      .filter((statement) => statement !== "");
  await database.batch(statements.map((statement) => database.prepare(statement)));
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
