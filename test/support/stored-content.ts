/** Everything that is stored of a thread, as text to search: all tables of its object, D1 and R2, as their own queries see them. */
import { env } from "cloudflare:test";
import type { Env } from "#src/env.ts";
import type { StoredThread } from "./stored-thread.ts";

const { DB, BLOBS } = env as unknown as Env;
const OWN_TABLES = "type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'";

/** Names of the tables and stores in which `canary` is found. */
export async function placesOf(canary: string, stored: StoredThread): Promise<readonly string[]> {
  const inObject = await stored.within(({ storage: { sql } }) =>
    sql
      .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE ${OWN_TABLES}`)
      .toArray()
      .filter(({ name }) => holds(sql.exec(`SELECT * FROM "${name}"`).toArray(), canary))
      .map(({ name }) => name),
  );
  return [...inObject, ...(await inDatabase(canary)), ...(await inBucket(canary))];
}

async function inDatabase(canary: string): Promise<readonly string[]> {
  const places: string[] = [];
  const tables = await DB.prepare(`SELECT name FROM sqlite_master WHERE ${OWN_TABLES}`).all<{
    name: string;
  }>();
  for (const { name } of tables.results) {
    const rows = await DB.prepare(`SELECT * FROM "${name}"`).all();
    if (holds(rows.results, canary)) places.push(`D1 ${name}`);
  }
  return places;
}

async function inBucket(canary: string): Promise<readonly string[]> {
  const { objects } = await BLOBS.list();
  const found: string[] = [];
  for (const { key } of objects) {
    const object = await BLOBS.get(key);
    if (object !== null && (await object.text()).includes(canary)) found.push("R2");
  }
  return [...new Set(found)];
}

function holds(rows: readonly Record<string, unknown>[], canary: string): boolean {
  return rows.some((row) => Object.values(row).some((value) => toText(value).includes(canary)));
}

function toText(value: unknown): string {
  if (value instanceof ArrayBuffer) return new TextDecoder("latin1").decode(value);
  return typeof value === "string" ? value : "";
}
