/**
 * What local development keeps under one directory: `state/` (the server's storage), `dev.env` (its secrets),
 * `dev.json` (URL and key for the terminal client), `server.json` (the processes of the running server).
 * Starting again on the same directory goes on with everything in it; deleting it starts anew.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, mustRun } from "./project.mjs";
import { newSigningKey } from "./signing-key.mjs";

export const DEV_CONFIG = "wrangler.dev.toml";
const TENANT = "dev";
const SCOPES =
  "threads:read threads:write files:read files:write approvals:decide tokens:mint agents:write audit erase operate";
/** Readable by its owner only: it holds a key. */
const PRIVATE = { mode: 0o600 };

export function devState(directory) {
  const path = (name) => join(directory, name);
  return {
    directory,
    storage: path("state"),
    env: path("dev.env"),
    modelEnv: path("model.env"),
    client: path("dev.json"),
    server: path("server.json"),
    log: path("server.log"),
  };
}

export function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
}

export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`, PRIVATE);
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

function migrationsDigest() {
  const folder = join(ROOT, "migrations/d1");
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return sha256(
    files
      .sort()
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\0"),
  );
}

function d1(state, args, config) {
  const where = ["--local", "-c", config, "--persist-to", state.storage];
  return mustRun("Preparing the local database", "wrangler", ["d1", ...args, ...where]);
}

/** The database of a local server: its tables, one tenant and one service key, of which only the hash is stored. */
async function prepareDatabase(state, config, key) {
  await d1(state, ["migrations", "apply", "DB"], config);
  const now = Date.now();
  const hash = sha256(key);
  const sql = [
    `INSERT INTO tenants (id, name, created_at) VALUES ('${TENANT}', 'Local development', ${now}) ON CONFLICT DO NOTHING`,
    `INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at) VALUES ('key_${hash.slice(0, 16)}', '${TENANT}', 'service', 'npm start', '${hash}', '${SCOPES}', ${now}) ON CONFLICT DO NOTHING`,
  ];
  await d1(state, ["execute", "DB", "--yes", "--command", sql.join("; ")], config);
}

/** A directory of an older version may lack one of them. */
function prepareSecrets(state) {
  const known = existsSync(state.env) ? readFileSync(state.env, "utf8") : "";
  const missing = [];
  if (!known.includes("HOLDFAST_TOKEN_SECRET="))
    missing.push(`HOLDFAST_TOKEN_SECRET="${randomBytes(32).toString("base64url")}"\n`);
  if (!known.includes("HOLDFAST_SIGNING_KEY="))
    missing.push(`HOLDFAST_SIGNING_KEY='${JSON.stringify(newSigningKey())}'\n`);
  if (missing.length > 0) writeFileSync(state.env, known + missing.join(""), PRIVATE);
}

/** Makes what is missing and nothing else. Returns the client's settings. */
export async function prepareState(state, config = DEV_CONFIG) {
  mkdirSync(state.directory, { recursive: true });
  prepareSecrets(state);
  const known = readJson(state.client);
  const migrations = migrationsDigest();
  if (known?.migrations === migrations && existsSync(state.storage)) return known;
  const key = known?.key ?? `hf_${randomBytes(32).toString("base64url")}`;
  await prepareDatabase(state, config, key);
  const client = { url: known?.url ?? null, key, tenant: TENANT, migrations };
  writeJson(state.client, client);
  return client;
}

/** Single quotes take everything but themselves literally in an env file. */
function quoted(value) {
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}

/** The model chosen in the environment of this start, for this start only. */
export function writeModelEnv(state) {
  const names = [
    "HOLDFAST_MODEL",
    "HOLDFAST_MODEL_BASE_URL",
    "HOLDFAST_MODEL_API_KEY",
    "HOLDFAST_SCRIPTED_PACE_MS",
  ];
  const lines = names
    .filter((name) => (process.env[name] ?? "") !== "")
    .map((name) => `${name}=${quoted(process.env[name])}\n`);
  writeFileSync(state.modelEnv, lines.join(""), PRIVATE);
  return process.env.HOLDFAST_MODEL || null;
}

export function forgetServer(state) {
  rmSync(state.server, { force: true });
}
