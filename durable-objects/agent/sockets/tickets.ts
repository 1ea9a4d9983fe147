/**
 * Tickets: hashes of unused socket tickets and whom each stands for (P22). A ticket is deleted by its first use, in
 * storage, so that no restart makes it good again.
 */
import type { Hasher } from "#ports/hasher.ts";
import type { SqlDatabase } from "#ports/sql.ts";
import type { Credential } from "#ports/key-store.ts";
import type { Caller, Reply, ThreadStub } from "#ports/thread-gateway.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { utf8 } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";

/** Far above what pages of one thread open within a minute. */
const MAX_UNUSED = 200;

/** Who a socket stands for, and by what right. */
export interface Bearer {
  readonly caller: Caller;
  readonly credential: Credential;
}

export class Tickets {
  readonly #sql: SqlDatabase;
  readonly #hasher: Hasher;

  constructor(sql: SqlDatabase, hasher: Hasher) {
    this.#sql = sql;
    this.#hasher = hasher;
  }

  /** False when too many are unused. */
  store(
    { ticket, expiresAt, credential }: Parameters<ThreadStub["storeTicket"]>[1],
    { caller, now }: { readonly caller: Caller; readonly now: number },
  ): boolean {
    this.#sql.exec(
      "DELETE FROM meta WHERE key LIKE 'ticket:%' AND json_extract(value, '$.expiresAt') <= ?",
      now,
    );
    const [row] = this.#sql.exec("SELECT count(*) AS n FROM meta WHERE key LIKE 'ticket:%'");
    if (Number(row?.["n"] ?? 0) >= MAX_UNUSED) return false;
    const value = JSON.stringify({ expiresAt, caller, credential });
    this.#sql.exec("INSERT INTO meta (key, value) VALUES (?, ?)", this.#key(ticket), value);
    return true;
  }

  /** Whom the ticket stands for; null when it is unknown, used or too old. */
  redeem(ticket: string, now: number): Bearer | null {
    const [row] = this.#sql.exec(
      "DELETE FROM meta WHERE key = ? RETURNING value",
      this.#key(ticket),
    );
    if (row === undefined) return null;
    // Written by `store` of this class, under a prefix nothing else uses.
    const { expiresAt, ...bearer } = JSON.parse(String(row["value"])) as Bearer & {
      readonly expiresAt: number;
    };
    return expiresAt > now ? bearer : null;
  }

  #key(ticket: string): string {
    return `ticket:${this.#hasher.sha256(utf8(ticket))}`;
  }
}

export function storeTicket(
  host: ThreadHost,
  caller: Caller,
  ticket: Parameters<ThreadStub["storeTicket"]>[1],
): Reply<null> {
  const { database, hasher } = host.storage;
  if (new Tickets(database, hasher).store(ticket, { caller, now: host.now })) return ok(null);
  return err({
    code: "rate_limited",
    message: `${MAX_UNUSED} tickets of this thread are unused; open sockets with them, or wait a minute.`,
    detail: {},
    retryable: true,
  });
}
