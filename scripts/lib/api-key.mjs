/** An API key and the SQL that registers it. Only the key's SHA-256 is in the SQL: the text is shown once, by whoever made it. */
import { createHash, randomBytes } from "node:crypto";

/** As in src/auth/principal.ts; a test compares. */
export const SCOPES = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
  "tokens:mint",
  "agents:write",
  "operate",
  "audit",
  "erase",
  "admin",
];
const SERVICE_SCOPES = SCOPES.slice(0, 6);
const SLUG = /^[a-z0-9][a-z0-9-]{0,47}$/;
const DAY_MS = 86_400_000;

/**
 * Throws RangeError with what would have been right. `expiresInDays` null: never.
 * @param {{ tenant: string, name: string, kind?: string, scopes?: string[] | null, expiresInDays?: number | null }} wanted
 * @param {number} now epoch milliseconds
 */
export function createKey(
  { tenant, name, kind = "service", scopes = null, expiresInDays = null },
  now,
) {
  if (!SLUG.test(tenant)) throw new RangeError("--tenant must be 1 to 48 of a-z, 0-9 and -");
  if (name.trim() === "" || name.length > 100)
    throw new RangeError("--name must be 1 to 100 characters");
  if (kind !== "service" && kind !== "operator")
    throw new RangeError("--kind must be service or operator");
  const granted = scopes ?? (kind === "operator" ? ["admin"] : SERVICE_SCOPES);
  const unknown = granted.filter((scope) => !SCOPES.includes(scope));
  if (unknown.length > 0)
    throw new RangeError(`unknown scopes ${unknown.join(", ")}; there are ${SCOPES.join(", ")}`);
  if (expiresInDays !== null && !(expiresInDays > 0))
    throw new RangeError("--expires-in-days must be above 0");

  const key = `hf_${randomBytes(32).toString("base64url")}`;
  const id = `key_${randomBytes(12).toString("hex")}`;
  const hash = createHash("sha256").update(key).digest("hex");
  const expiresAt =
    expiresInDays === null ? "NULL" : String(Math.round(now + expiresInDays * DAY_MS));
  const values = [id, tenant, kind, name, hash, granted.join(" ")].map(quote);
  const sql = [
    `INSERT INTO tenants (id, name, created_at) VALUES (${quote(tenant)}, ${quote(tenant)}, ${now}) ON CONFLICT DO NOTHING`,
    `INSERT INTO api_keys (id, tenant, kind, name, hash, scopes, created_at, expires_at) VALUES (${values.join(", ")}, ${now}, ${expiresAt})`,
  ].join("; ");
  return { key, id, scopes: granted, sql };
}

/** The statement that ends a key; every isolate refuses it within a minute. */
export function revokeSql(id, now) {
  return `UPDATE api_keys SET revoked_at = ${now} WHERE id = ${quote(id)} AND revoked_at IS NULL`;
}

function quote(text) {
  return `'${text.replaceAll("'", "''")}'`;
}
