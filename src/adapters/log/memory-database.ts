/**
 * MemoryDatabase: tables of plain values with one transaction over all of them, undone step by step when it throws.
 *
 * It outlives the log that works on it, so "close and reopen" in a test is a second log over the same database. A
 * projection that keeps its rows in a table here rolls back with the append, as in SQLite.
 */
import { JoinedTransaction } from "#adapters/sql/joined-transaction.ts";

export class MemoryDatabase {
  readonly #tables = new Map<string, MemoryTable<unknown>>();
  readonly #transaction = new JoinedTransaction();
  #undo: (() => void)[] | null = null;

  /** The table of that name, created when missing. All uses of one name must agree on `V`. */
  table<V>(name: string): MemoryTable<V> {
    const existing = this.#tables.get(name);
    if (existing !== undefined) return existing as MemoryTable<V>;
    const table = new MemoryTable<V>((undo) => this.#undo?.push(undo));
    this.#tables.set(name, table);
    return table;
  }

  transaction<T>(work: () => T): T {
    return this.#transaction.run(work, (body) => {
      const undo: (() => void)[] = [];
      this.#undo = undo;
      try {
        return body();
      } catch (error) {
        for (const step of undo.reverse()) step();
        throw error;
      } finally {
        this.#undo = null;
      }
    });
  }
}

export class MemoryTable<V> {
  readonly #rows = new Map<string, V>();
  readonly #record: (undo: () => void) => void;

  constructor(record: (undo: () => void) => void) {
    this.#record = record;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): V | undefined {
    return this.#rows.get(key);
  }

  set(key: string, value: V): void {
    const before = this.#rows.get(key);
    const existed = this.#rows.has(key);
    this.#rows.set(key, value);
    this.#record(() => {
      if (existed) this.#rows.set(key, before as V);
      else this.#rows.delete(key);
    });
  }

  delete(key: string): void {
    const before = this.#rows.get(key);
    if (!this.#rows.delete(key)) return;
    this.#record(() => this.#rows.set(key, before as V));
  }

  /** In no promised order: sort by a field. */
  values(): readonly V[] {
    return [...this.#rows.values()];
  }

  entries(): readonly (readonly [string, V])[] {
    return [...this.#rows.entries()];
  }

  clear(): void {
    for (const key of this.#rows.keys()) this.delete(key);
  }
}
