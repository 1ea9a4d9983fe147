/** The bench's workerd: the product's composition over stores of its own, with one key. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

const MIGRATIONS = resolve(import.meta.dirname, "../../migrations/d1");
const KEY = `hf_${"b".repeat(43)}`;
const TICK_MS = 10;

export async function startServer(script) {
  const state = mkdtempSync(join(tmpdir(), "holdfast-protocols-"));
  const folder = dirname(script);
  const wasm = readdirSync(folder).filter((name) => name.endsWith(".wasm"));
  const object = (className) => ({ className, useSQLite: true });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modulesRoot: folder,
      modules: [
        { type: "ESModule", path: script },
        ...wasm.map((name) => ({ type: "CompiledWasm", path: join(folder, name) })),
      ],
      host: "127.0.0.1",
      port: 0,
      cf: false,
      log: new Log(LogLevel.ERROR),
      logRequests: false,
      compatibilityDate: "2026-11-01",
      compatibilityFlags: ["nodejs_compat"],
      durableObjects: {
        AGENT: object("AgentObject"),
        MEMORY: object("MemoryObject"),
        LEDGER: object("LedgerObject"),
      },
      d1Databases: ["DB"],
      r2Buckets: ["BLOBS"],
      bindings: {
        HOLDFAST_TOKEN_SECRET: "a secret of a bench that is long enough",
        HOLDFAST_REQUESTS_PER_MINUTE: "0",
        HOLDFAST_RUNS_PER_MINUTE: "0",
      },
      resourcePersistencePath: state,
      handleRuntimeStdio: (stdout, stderr) => {
        stdout.resume();
        if (process.env.BENCH_LOG) stderr.pipe(process.stderr);
        else stderr.resume();
      },
    }),
  );
  const url = (await miniflare.ready).origin;
  await createKey(await miniflare.getD1Database("DB"));
  const pid = workerdOf(process.pid);
  return {
    url,
    key: KEY,
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    /** User and system time of workerd in milliseconds. */
    cpu: () => {
      const stat = statOf(pid);
      return stat === null ? null : (Number(stat[11]) + Number(stat[12])) * TICK_MS;
    },
    /** Resident memory of workerd in MiB. */
    memory: () => {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
    },
    dispose: async () => {
      await miniflare.dispose();
      rmSync(state, { recursive: true, force: true });
    },
  };
}

async function createKey(database) {
  for (const file of readdirSync(MIGRATIONS).toSorted()) {
    const sql = readFileSync(join(MIGRATIONS, file), "utf8");
    const statements = sql.split(";").map((statement) => statement.trim());
    await database.batch(
      statements.filter((statement) => statement !== "").map((one) => database.prepare(one)),
    );
  }
  const scopes = "threads:read threads:write files:read files:write approvals:decide";
  const hash = createHash("sha256").update(KEY).digest("hex");
  await database.batch([
    database.prepare("INSERT INTO tenants (id, name, created_at) VALUES ('bench', 'bench', 1)"),
    database
      .prepare(
        "INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at) VALUES ('key_bench', 'bench', 'service', 'bench', ?, ?, 1)",
      )
      .bind(hash, scopes),
  ]);
}

function workerdOf(parent) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => statOf(pid)?.[1] === String(parent) && commandOf(pid).includes("workerd"));
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  } catch {
    return null;
  }
}
