/**
 * What the chain checks of an event's header.
 *
 * A header as the log writes it is read by a pattern, in a third of the time that `JSON.parse` takes; any other by
 * `JSON.parse`. The pattern changes no verdict: what it matches is JSON with each key once and no escape in a string, so
 * the two read the same fields (a property test compares them).
 */
import type { EventHeader } from "#ports/event-log.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

export interface VerifiableHeader {
  readonly logId: string;
  readonly seq: number;
  readonly prev: string;
  readonly digest: string;
  readonly bytes: number;
  /** Of whatever type it is; compared and not used. */
  readonly tenant: Json | undefined;
  readonly agent: Json | undefined;
  readonly thread: Json | undefined;
}

const CHARACTERS = String.raw`[ !#-[\]-~]*`;
const TEXT = `"${CHARACTERS}"`;
const NUMBER = String.raw`-?(?:0|[1-9]\d*)`;
/** Of those that are compared, what a double holds exactly. */
const WHOLE = String.raw`(?:0|[1-9]\d{0,14})`;
const NAME = `(?:null|${TEXT})`;
const COUNT = `(?:null|${NUMBER})`;
const LIST = String.raw`(?:null|\[${TEXT}(?:,${TEXT})*\])`;

/** In canonical order, which is that of the text. */
const FIELDS: Readonly<Record<keyof EventHeader, string>> = {
  actor: NAME,
  agent: `(${NAME})`,
  at: NUMBER,
  attempt: COUNT,
  call: NAME,
  cause: NAME,
  costKind: NAME,
  costMicros: COUNT,
  deadline: COUNT,
  definition: NAME,
  depth: COUNT,
  epoch: NUMBER,
  id: TEXT,
  leaseId: NAME,
  logId: `"(${CHARACTERS})"`,
  origin: LIST,
  parentRun: NAME,
  parentSpanId: NAME,
  payload: String.raw`\{"bytes":(${WHOLE}),"digest":"(${CHARACTERS})","encoding":${TEXT},"keyId":${NAME},"ref":${NAME}\}`,
  prev: `"(${CHARACTERS})"`,
  priceVersion: NAME,
  rootRun: NAME,
  run: NAME,
  seq: `(${WHOLE})`,
  spanId: NAME,
  step: COUNT,
  subject: NAME,
  tenant: `(${NAME})`,
  thread: `(${NAME})`,
  traceId: NAME,
  type: TEXT,
  version: NUMBER,
};
const WRITTEN = new RegExp(
  `^\\{${Object.entries(FIELDS)
    .map(([name, pattern]) => `"${name}":${pattern}`)
    .join(",")}\\}$`,
);

/** Null for what is not JSON of a header's shape. */
export function parseHeader(text: string): VerifiableHeader | null {
  return matchHeader(text) ?? readHeader(text);
}

/** Null for a header that the log would have written otherwise; it may be one all the same. */
export function matchHeader(text: string): VerifiableHeader | null {
  const match = WRITTEN.exec(text);
  if (match === null) return null;
  // In the order of the fields.
  const [, agent = "", logId = "", bytes, digest = "", prev = "", seq, tenant = "", thread = ""] =
    match;
  return {
    logId,
    seq: Number(seq),
    prev,
    digest,
    bytes: Number(bytes),
    tenant: toName(tenant),
    agent: toName(agent),
    thread: toName(thread),
  };
}

export function readHeader(text: string): VerifiableHeader | null {
  const header = parseObject(text);
  const payload = header?.["payload"];
  if (header === null || !isJsonObject(payload)) return null;
  const { logId, seq, prev, tenant, agent, thread } = header;
  const { digest, bytes } = payload;
  if (typeof logId !== "string" || typeof seq !== "number" || typeof prev !== "string") return null;
  if (typeof digest !== "string" || typeof bytes !== "number") return null;
  return { logId, seq, prev, digest, bytes, tenant, agent, thread };
}

/** Null for anything but one JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function toName(literal: string): string | null {
  return literal === "null" ? null : literal.slice(1, -1);
}
