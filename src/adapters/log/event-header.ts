/**
 * Builds event headers and their canonical text.
 *
 * The literal below lists its keys in the order of RFC 8785, so one native `JSON.stringify` yields the canonical form
 * (a property test compares it with `canonicalJson`). Every field is there, unused ones null (rule L11).
 *
 * Strings of a header are ids and labels. They are held to a closed alphabet, so that no text, path or address can
 * slip into the part of an event that is never erased, and so that no string ever needs an escape.
 */
import { invariant } from "#shared/exhaustive.ts";
import type { EventHeader, EventScope, PayloadDescriptor } from "#ports/event-log.ts";

/** What the log itself knows of an event; the rest is scope. */
export interface HeaderIdentity {
  readonly logId: string;
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly at: number;
  readonly epoch: number;
  readonly payload: PayloadDescriptor;
  readonly prev: string;
}

const LABEL = /^[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}$/;

export function buildHeader(
  identity: HeaderIdentity,
  scope: EventScope,
  defaults: EventScope,
): EventHeader {
  const from: Sources = { scope, defaults };
  const { payload } = identity;
  return {
    actor: label("actor", from),
    agent: label("agent", from),
    at: identity.at,
    attempt: whole("attempt", from),
    call: label("call", from),
    cause: label("cause", from),
    costKind: scope.costKind ?? defaults.costKind ?? null,
    costMicros: whole("costMicros", from),
    deadline: whole("deadline", from),
    definition: label("definition", from),
    depth: whole("depth", from),
    epoch: identity.epoch,
    id: identity.id,
    leaseId: label("leaseId", from),
    logId: identity.logId,
    origin: requireOrigin(scope.origin ?? defaults.origin ?? null),
    parentRun: label("parentRun", from),
    parentSpanId: label("parentSpanId", from),
    payload: {
      bytes: payload.bytes,
      digest: payload.digest,
      encoding: payload.encoding,
      keyId: payload.keyId,
      ref: payload.ref,
    },
    prev: identity.prev,
    priceVersion: label("priceVersion", from),
    rootRun: label("rootRun", from),
    run: label("run", from),
    seq: identity.seq,
    spanId: label("spanId", from),
    step: whole("step", from),
    subject: label("subject", from),
    tenant: label("tenant", from),
    thread: label("thread", from),
    traceId: label("traceId", from),
    type: identity.type,
    version: identity.version,
  };
}

interface Sources {
  readonly scope: EventScope;
  readonly defaults: EventScope;
}

/** Defaults are those that `requireScope` let through. */
function label(name: LabelField, { scope, defaults }: Sources): string | null {
  const own = scope[name] ?? null;
  return own === null ? (defaults[name] ?? null) : requireLabel(name, own);
}

function whole(name: WholeField, { scope, defaults }: Sources): number | null {
  const own = scope[name] ?? null;
  return own === null ? (defaults[name] ?? null) : requireWhole(name, own);
}

/** What every header of a log begins with, checked once. */
export function requireScope(scope: EventScope): EventScope {
  for (const [name, value] of Object.entries(scope)) {
    if (typeof value === "string") requireLabel(name, value);
    if (typeof value === "number") requireWhole(name, value);
  }
  return scope;
}

/** The exact text that is stored and hashed. Only for headers made by `buildHeader`. */
export function toHeaderText(header: EventHeader): string {
  return JSON.stringify(header);
}

export function requireLabel(name: string, value: string | null): string | null {
  if (value === null) return null;
  invariant(LABEL.test(value), `header field ${name} holds an id or a label, not content`);
  return value;
}

export function requireWhole(name: string, value: number | null): number | null {
  if (value === null) return null;
  invariant(Number.isSafeInteger(value), `header field ${name} is a safe integer`);
  // Negative zero and zero are one number with one text.
  return value === 0 ? 0 : value;
}

function requireOrigin(labels: readonly string[] | null): readonly string[] | null {
  if (labels === null) return null;
  for (const [index, origin] of labels.entries()) {
    requireLabel("origin", origin);
    invariant(
      index === 0 || (labels[index - 1] ?? "") < origin,
      "origin labels are sorted and unique",
    );
  }
  return labels;
}

type LabelField =
  | "actor"
  | "agent"
  | "call"
  | "cause"
  | "definition"
  | "leaseId"
  | "parentRun"
  | "parentSpanId"
  | "priceVersion"
  | "rootRun"
  | "run"
  | "spanId"
  | "subject"
  | "tenant"
  | "thread"
  | "traceId";
type WholeField = "attempt" | "costMicros" | "deadline" | "depth" | "step";

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function toHeader(row: { readonly header: string }): EventHeader {
  return JSON.parse(row.header) as EventHeader;
}
