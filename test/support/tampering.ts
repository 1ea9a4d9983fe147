/** What somebody may do to an export who has the file and no key: lines as records, changed and written again. */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { digestInput, FIRST_DIGEST } from "#audit/export-format.ts";
import { canonicalJson, utf8, type Json, type JsonObject } from "#shared/json.ts";

const hasher = new NodeHasher();

export interface EventRecord {
  readonly seq: number;
  readonly header: string;
  readonly hash: string;
  readonly salt: string | null;
  readonly payload: string | null;
}

export function toRecords(text: string): JsonObject[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
}

export function toText(records: readonly JsonObject[]): string {
  return records.map((record) => `${canonicalJson(record)}\n`).join("");
}

export function isEvent(record: JsonObject): record is JsonObject & EventRecord {
  return "header" in record;
}

export function headerOf(record: EventRecord): JsonObject {
  return JSON.parse(record.header) as JsonObject;
}

/** The event with another header, and the hash that fits it. */
export function withHeader(record: EventRecord, change: JsonObject): JsonObject {
  const header = canonicalJson({ ...headerOf(record), ...change });
  return { ...record, header, hash: hasher.sha256(utf8(header)) };
}

/** The event with another payload, the digest and the hash that fit it. */
export function withPayload(record: EventRecord, payload: Json): JsonObject {
  const bytes = utf8(canonicalJson(payload));
  const salt = Buffer.from(record.salt ?? "", "base64");
  const descriptor = headerOf(record)["payload"] as JsonObject;
  const digest = hasher.sha256(salt, bytes);
  const sealed = { ...record, payload: Buffer.from(bytes).toString("base64") };
  return withHeader(sealed, { payload: { ...descriptor, digest, bytes: bytes.byteLength } });
}

/** Every event built on the one before it, as whoever rewrites a log would leave it. */
export function rehash(records: readonly JsonObject[]): JsonObject[] {
  let previous: string | null = null;
  return records.map((record) => {
    if ("log" in record)
      previous = ((record["log"] as JsonObject)["base"] as JsonObject)["hash"] as string;
    if (!isEvent(record) || previous === null) return record;
    const built = withHeader(record, { prev: previous });
    previous = built["hash"] as string;
    return built;
  });
}

/** Head lines that promise what is there, and counts and digest of the end that fit: everything but a signature. */
export function reseal(records: readonly JsonObject[]): JsonObject[] {
  const closed = records.map((record, index): JsonObject => {
    if (!("log" in record)) return record;
    const rest = records.slice(index + 1);
    const next = rest.findIndex((other) => "log" in other || "end" in other);
    const last = rest.slice(0, next).findLast(isEvent);
    const log = record["log"] as JsonObject;
    const head = last === undefined ? log["base"] : { seq: last.seq, hash: last.hash };
    return { log: { ...log, head: head ?? null } };
  });
  let digest = FIRST_DIGEST;
  for (const record of closed.slice(0, -1))
    digest = hasher.sha256(digestInput(digest, canonicalJson(record)));
  const count = (name: string): number => closed.filter((record) => name in record).length;
  const end = closed.at(-1)?.["end"] as JsonObject;
  const tally = { logs: count("log"), events: count("header"), anchors: count("anchor"), digest };
  return [...closed.slice(0, -1), { end: { ...end, ...tally } }];
}
