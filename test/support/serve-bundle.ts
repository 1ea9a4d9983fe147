/**
 * A bundled Worker under Miniflare: a real server on a port, with a key of tenant `dev`. Quicker to start than `wrangler dev`,
 * and with nothing between client and Worker.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { convertV4MiniflareOptions, Miniflare, Response, type Request } from "miniflare";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { SCOPES } from "#auth/principal.ts";
import { utf8 } from "#shared/json.ts";
import { BUNDLE_ENTRY, COMPATIBILITY_DATE } from "./bundle-once.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const KEY = `hf_${"c".repeat(43)}`;
const PRINCIPAL = "key_conformance";

/** What lies at addresses of other hosts, for the Worker alone. */
export type Documents = Readonly<Record<string, object>>;

export interface BundledServer {
  readonly url: string;
  readonly key: string;
  /** A token of one of the tenant's users. */
  mint(user: string, scopes?: readonly string[]): Promise<string>;
  dispose(): Promise<void>;
}

/** Each with stores of its own. */
export async function serveBundle(
  directory: string,
  documents: Documents = {},
): Promise<BundledServer> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modulesRoot: directory,
      modules: modulesOf(directory, BUNDLE_ENTRY),
      host: "127.0.0.1",
      port: 0,
      cf: false,
      ...(Object.keys(documents).length === 0
        ? {}
        : { outboundService: (request: Request) => answerFrom(documents, request) }),
      compatibilityDate: COMPATIBILITY_DATE,
      compatibilityFlags: ["nodejs_compat", "global_fetch_strictly_public"],
      durableObjects: {
        AGENT: { className: "AgentObject", useSQLite: true },
        MEMORY: { className: "MemoryObject", useSQLite: true },
        LEDGER: { className: "LedgerObject", useSQLite: true },
      },
      d1Databases: ["DB"],
      r2Buckets: ["BLOBS"],
      kvNamespaces: ["OAUTH_KV"],
      bindings: {
        HOLDFAST_TOKEN_SECRET: "a secret of tests that is long enough",
        HOLDFAST_ALLOWED_ORIGINS: "https://app.example.com",
        HOLDFAST_EGRESS_LOOPBACK: "1",
        // The key of RFC 8037, appendix A.
        HOLDFAST_SIGNING_KEY: JSON.stringify({
          kty: "OKP",
          crv: "Ed25519",
          d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
          x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }),
        // Tests poll faster than any client.
        HOLDFAST_REQUESTS_PER_MINUTE: "0",
        HOLDFAST_RUNS_PER_MINUTE: "0",
      },
    }),
  );
  const url = (await miniflare.ready).origin;
  await createKey(await miniflare.getD1Database("DB"));
  return {
    url,
    key: KEY,
    mint: async (user, scopes) => {
      const response = await fetch(`${url}/v1/tokens`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ user, ...(scopes === undefined ? {} : { scopes }) }),
      });
      return (await response.json<{ token: string }>()).token;
    },
    dispose: () => miniflare.dispose(),
  };
}

/** Everything else goes where it would go. */
async function answerFrom(documents: Documents, request: Request): Promise<Response> {
  const document = documents[request.url];
  if (document !== undefined) return Response.json(document);
  const { method, url, headers } = request;
  const body = method === "GET" ? null : await request.arrayBuffer();
  const answer = await fetch(url, { method, headers, body, redirect: "manual" });
  return new Response(answer.body, { status: answer.status, headers: [...answer.headers] });
}

/** The entry first, then what the bundle imports beside it. */
function modulesOf(directory: string, entry: string) {
  const wasm = readdirSync(directory).filter((name) => name.endsWith(".wasm"));
  return [
    { type: "ESModule" as const, path: join(directory, entry) },
    ...wasm.map((name) => ({ type: "CompiledWasm" as const, path: join(directory, name) })),
  ];
}

async function createKey(database: D1Database): Promise<void> {
  const folder = join(ROOT, "migrations/d1");
  for (const file of readdirSync(folder).toSorted()) {
    const statements = readFileSync(join(folder, file), "utf8")
      .split(";")
      .map((statement) => statement.trim())
      .filter((statement) => statement !== "");
    await database.batch(statements.map((statement) => database.prepare(statement)));
  }
  await database.batch([
    database.prepare("INSERT INTO tenants (id, name, created_at) VALUES ('dev', 'dev', 1)"),
    database
      .prepare(
        "INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at) VALUES (?, 'dev', 'service', 'test', ?, ?, 1)",
      )
      .bind(PRINCIPAL, new NodeHasher().sha256(utf8(KEY)), SCOPES.join(" ")),
  ]);
}
