/**
 * `npm run test:kits -- a2a` runs this, and so does `node test/kits/a2a/run.mjs [PYTEST ARGUMENTS]`.
 *
 * Runs the A2A compatibility kit (a2aproject/a2a-tck, branch 1.0-dev) against this server and writes what it said to
 * results/. None of the kit is part of this repository: A2A_TCK_DIR names a checkout, and
 * PYTHONPATH may add its packages (pytest, httpx, jsonschema). Without them it says `skipped` and why.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import whySkipped from "./requires.mjs";

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, "../../..");
const KEY = `hf_${"k".repeat(43)}`;
const COMPATIBILITY_DATE = "2026-11-01";
const SCOPES = ["threads:read", "threads:write", "files:read", "files:write"];

const kit = process.env["A2A_TCK_DIR"] ?? "";
const reason = whySkipped();
if (reason !== null) {
  console.log(`skipped, ${reason}`);
  process.exit(0);
}
const work = mkdtempSync(join(tmpdir(), "holdfast-a2a-kit-"));
let code = 1;
try {
  bundle();
  const server = await start();
  try {
    code = await run(server.url);
  } finally {
    await server.dispose();
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(code);

function bundle() {
  const config = join(work, "wrangler.json");
  writeFileSync(
    config,
    JSON.stringify({
      name: "kit",
      main: join(ROOT, "test/support/tck-worker.ts"),
      compatibility_date: COMPATIBILITY_DATE,
      compatibility_flags: ["nodejs_compat", "global_fetch_strictly_public"],
      keep_names: false,
      rules: [{ type: "Text", globs: ["**/*.sql"], fallthrough: true }],
    }),
  );
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "-c", config, "--outdir", work];
  const built = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "pipe", encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
}

async function start() {
  const wasm = readdirSync(work).filter((name) => name.endsWith(".wasm"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modulesRoot: work,
      modules: [
        { type: "ESModule", path: join(work, "tck-worker.js") },
        ...wasm.map((name) => ({ type: "CompiledWasm", path: join(work, name) })),
      ],
      host: "127.0.0.1",
      port: 0,
      cf: false,
      compatibilityDate: COMPATIBILITY_DATE,
      compatibilityFlags: ["nodejs_compat", "global_fetch_strictly_public"],
      durableObjects: {
        AGENT: { className: "AgentObject", useSQLite: true },
        MEMORY: { className: "MemoryObject", useSQLite: true },
        LEDGER: { className: "LedgerObject", useSQLite: true },
      },
      d1Databases: ["DB"],
      r2Buckets: ["BLOBS"],
      bindings: {
        KIT_KEY: KEY,
        HOLDFAST_EGRESS_LOOPBACK: "1",
        HOLDFAST_REQUESTS_PER_MINUTE: "0",
        HOLDFAST_RUNS_PER_MINUTE: "0",
      },
    }),
  );
  const url = (await miniflare.ready).origin;
  await fill(await miniflare.getD1Database("DB"));
  return { url, dispose: () => miniflare.dispose() };
}

async function fill(database) {
  const folder = join(ROOT, "migrations/d1");
  for (const file of readdirSync(folder).sort()) {
    const statements = readFileSync(join(folder, file), "utf8")
      .split(";")
      .map((statement) => statement.trim())
      .filter((statement) => statement !== "");
    await database.batch(statements.map((statement) => database.prepare(statement)));
  }
  const hash = createHash("sha256").update(KEY).digest("hex");
  await database.batch([
    database.prepare("INSERT INTO tenants (id, name, created_at) VALUES ('kit', 'kit', 1)"),
    database
      .prepare(
        "INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at) VALUES ('key_kit', 'kit', 'service', 'kit', ?, ?, 1)",
      )
      .bind(hash, SCOPES.join(" ")),
  ]);
}

/** `minversion` and plugins of the kit's own configuration are set aside: Debian's pytest is older, and says the same. */
async function run(url) {
  const report = join(work, "report");
  const config = join(work, "pytest.ini");
  const markers = [
    "core",
    "must",
    "should",
    "may",
    "grpc",
    "jsonrpc",
    "http_json",
    "streaming",
    "integration",
  ];
  writeFileSync(
    config,
    `[pytest]\nmarkers =\n${markers.map((name) => `    ${name}: of the kit`).join("\n")}\n`,
  );
  const args = [
    "-m",
    "pytest",
    "tests/compatibility",
    "-c",
    config,
    `--rootdir=${kit}`,
    "-p",
    "no:cacheprovider",
    `--sut-host=${url}`,
    "--transport=jsonrpc,http_json",
    "--webhook-host=127.0.0.1",
    `--compatibility-report=${report}`,
    "--tb=short",
    "-q",
    "-rs",
    ...process.argv.slice(2),
  ];
  const path = [join(HERE, "shim"), kit, process.env["PYTHONPATH"]].filter(Boolean).join(":");
  const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" };
  // Not synchronously: the server writes its log through this process.
  const ran = spawn("python3", args, { cwd: kit, env, stdio: "inherit" });
  const [status] = await once(ran, "exit");
  if (!existsSync(`${report}.json`)) return 1;
  const said = JSON.parse(readFileSync(`${report}.json`, "utf8"));
  const head = spawnSync("git", ["-C", kit, "rev-parse", "HEAD"], { encoding: "utf8" });
  const commit = head.status === 0 ? head.stdout.trim() : "unknown";
  const result = { kit: "a2aproject/a2a-tck", branch: "1.0-dev", commit, report: said };
  const file = join(HERE, "results/tck-1.0-dev.json");
  // The address of a server that is gone says nothing.
  writeFileSync(file, `${JSON.stringify(result, null, 2).replaceAll(url, "http://sut")}\n`);
  return status ?? 1;
}
