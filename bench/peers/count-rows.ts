/** Rows written by whatever runs in this isolate, as SQLite counts them (and as they are billed); alarms apart. */
interface Counts {
  rows: number;
  alarms: number;
  keys: number;
  readonly statements: Map<string, number>;
}
let counts: Counts | null = null;
let isPatched = false;

export function startCounting(): void {
  counts = { rows: 0, alarms: 0, keys: 0, statements: new Map() };
}

export function stopCounting() {
  const counted = counts;
  counts = null;
  return counted === null
    ? null
    : { ...counted, statements: Object.fromEntries(counted.statements) };
}

/** Every object of an isolate shares the prototypes of the platform's storage. */
export function patchStorage({ storage }: DurableObjectState): void {
  if (isPatched) return;
  isPatched = true;
  const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const exec = sql.exec;
  sql.exec = function counted<T extends Record<string, SqlStorageValue>>(
    this: SqlStorage,
    query: string,
    ...bindings: unknown[]
  ): SqlStorageCursor<T> {
    const cursor = exec.call(this, query, ...bindings) as SqlStorageCursor<T>;
    const written = cursor.rowsWritten;
    if (counts !== null && written > 0) {
      const name = query.replaceAll(/\s+/g, " ").trim().slice(0, 60);
      counts.rows += written;
      counts.statements.set(name, (counts.statements.get(name) ?? 0) + written);
    }
    return cursor;
  };
  const base = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm, put } = base;
  base.setAlarm = function counted(this: DurableObjectStorage, ...rest) {
    if (counts !== null) counts.alarms += 1;
    return setAlarm.apply(this, rest);
  };
  base.put = function counted(this: DurableObjectStorage, ...rest: unknown[]) {
    const [key] = rest;
    if (counts !== null)
      counts.keys += typeof key === "object" && key !== null ? Object.keys(key).length : 1;
    return put.apply(this, rest as never);
  };
}
