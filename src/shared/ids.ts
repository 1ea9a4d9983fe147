/**
 * Branded identifiers and the fixed alphabets they are made of.
 *
 * Ids from outside become object names, storage keys and header fields, so each is parsed against a closed
 * alphabet here and nowhere else.
 */
declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

export type TenantId = Brand<string, "TenantId">;
export type AgentName = Brand<string, "AgentName">;
export type ThreadId = Brand<string, "ThreadId">;
export type RunId = Brand<string, "RunId">;
export type MessageId = Brand<string, "MessageId">;
export type PrincipalId = Brand<string, "PrincipalId">;

const SLUG = /^[a-z0-9][a-z0-9-]{0,47}$/;
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export const isTenantId = (value: string): value is TenantId => SLUG.test(value);
export const isAgentName = (value: string): value is AgentName => SLUG.test(value);
export const isThreadId = (value: string): value is ThreadId => TOKEN.test(value);
export const isRunId = (value: string): value is RunId => TOKEN.test(value);
export const isMessageId = (value: string): value is MessageId => TOKEN.test(value);
export const isPrincipalId = (value: string): value is PrincipalId => TOKEN.test(value);

/** Asserts a brand on a value that this system minted or stored itself. */
export function trusted<T extends string>(value: string): T {
  return value as T;
}

export interface ThreadAddress {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
}

/** The only place that spells the name of a thread's object. Clients never send it. */
export function toObjectName(address: ThreadAddress): string {
  return `v1/${address.tenant}/${address.agent}/${address.thread}`;
}

export function fromObjectName(name: string): ThreadAddress | null {
  const [version, tenant, agent, thread, ...rest] = name.split("/");
  if (version !== "v1" || rest.length > 0) return null;
  if (tenant === undefined || agent === undefined || thread === undefined) return null;
  if (!isTenantId(tenant) || !isAgentName(agent) || !isThreadId(thread)) return null;
  return { tenant, agent, thread };
}

export interface SubjectAddress {
  readonly tenant: TenantId;
  readonly subject: PrincipalId;
}

/** The only place that spells the name of the object of a user's scope. */
export function toSubjectName({ tenant, subject }: SubjectAddress): string {
  return `v1/${tenant}/user/${subject}`;
}

export function fromSubjectName(name: string): SubjectAddress | null {
  const [version, tenant, kind, subject, ...rest] = name.split("/");
  if (version !== "v1" || kind !== "user" || rest.length > 0) return null;
  if (tenant === undefined || subject === undefined) return null;
  return isTenantId(tenant) && isPrincipalId(subject) ? { tenant, subject } : null;
}

/** Name of a tenant's ledger object. */
export function toLedgerName(tenant: TenantId): string {
  return `v1/${tenant}`;
}

export function fromLedgerName(name: string): TenantId | null {
  const [version, tenant = "", ...rest] = name.split("/");
  return version === "v1" && rest.length === 0 && isTenantId(tenant) ? tenant : null;
}
