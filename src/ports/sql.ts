/**
 * SqlDatabase: the narrow synchronous surface of embedded SQLite that both `node:sqlite` and a Durable Object's
 * `ctx.storage.sql` can offer, so the same log and projections run in plain Node and in workerd.
 *
 * Bind numbers, strings, null and bytes only: a boolean binds as text on one of them. At most 100 parameters and
 * 1.5 MiB a row.
 */
export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

export interface SqlDatabase {
  exec(sql: string, ...params: readonly SqlValue[]): readonly SqlRow[];
  /** Runs `work` in one transaction; a throw rolls back and is passed on. Nested calls join the outer one. */
  transaction<T>(work: () => T): T;
}
