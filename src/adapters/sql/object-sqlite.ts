/**
 * SqlDatabase over a Durable Object's storage, typed by structure so that it compiles without the platform.
 *
 * `BEGIN` is refused there: transactions go through `transactionSync`. Blobs come back as `ArrayBuffer` and are
 * turned into `Uint8Array`, so that nothing above can tell the two runtimes apart.
 */
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";
import { JoinedTransaction } from "./joined-transaction.ts";
import { assertStatementFits, toStorageError } from "./statement-limits.ts";

type StoredValue = string | number | null | ArrayBuffer;

/** The part of `ctx.storage` that is used. */
export interface ObjectStorage {
  readonly sql: {
    exec(
      query: string,
      ...bindings: readonly SqlValue[]
    ): {
      toArray(): readonly { readonly [column: string]: StoredValue }[];
    };
  };
  transactionSync<T>(work: () => T): T;
  sync(): Promise<void>;
}

const NO_ROWS: readonly SqlRow[] = [];

export class ObjectSqlite implements SqlDatabase {
  readonly #storage: ObjectStorage;
  readonly #transaction = new JoinedTransaction();

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
  }

  exec(sql: string, ...params: readonly SqlValue[]): readonly SqlRow[] {
    assertStatementFits(params);
    try {
      const rows = this.#storage.sql.exec(sql, ...params).toArray();
      // Most statements of a step write, and give nothing back.
      return rows.length === 0 ? NO_ROWS : rows.map(toSqlRow);
    } catch (error) {
      throw toStorageError(error);
    }
  }

  transaction<T>(work: () => T): T {
    return this.#transaction.run(work, (body) => this.#storage.transactionSync(body));
  }
}

function toSqlRow(stored: { readonly [column: string]: StoredValue }): SqlRow {
  const row: Record<string, SqlValue> = {};
  for (const column in stored) {
    const value = stored[column] ?? null;
    row[column] = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  }
  return row;
}
