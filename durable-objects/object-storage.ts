/**
 * ObjectStorage: opens the storage of one object: migrations first, then blobs and clock-free parts over one database.
 *
 * Every object keeps its truth in a log of the same format, so every object opens the same way. A failing migration
 * does not make an object unreachable: it is passed on as a reason to open the log for reading only (L6).
 */
import { SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import { SqliteEventLog } from "#adapters/log/sqlite-event-log.ts";
import { ObjectSqlite, type ObjectStorage } from "#adapters/sql/object-sqlite.ts";
import { migrate, type Migration } from "#db/migrate.ts";
import type { Catalogue, EventScope, Projection, ReadOnlyReason } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface OpenStorage {
  readonly database: SqlDatabase;
  readonly blobs: SqliteBlobStore;
  readonly hasher: NodeHasher;
  readonly ids: RandomIds;
  /** Resolves once everything before it is in the files. */
  readonly flush: () => Promise<void>;
  readonly readOnly: { readonly reason: ReadOnlyReason; readonly message: string } | null;
}

export function openStorage(storage: ObjectStorage, migrations: readonly Migration[]): OpenStorage {
  const database = new ObjectSqlite(storage);
  const hasher = new NodeHasher();
  const migrated = migrate(database, migrations, hasher);
  const readOnly = migrated.ok
    ? null
    : ({
        reason: "migration_failed",
        message: `storage is at another schema than this build (${migrated.error.reason} at ${migrated.error.id}); it can be read, not run`,
      } as const);
  return {
    database,
    blobs: new SqliteBlobStore(database),
    hasher,
    ids: new RandomIds(),
    flush: () => storage.sync(),
    readOnly,
  };
}

export interface LogSpec<M> {
  readonly catalogue: Catalogue<M>;
  readonly defaults: EventScope;
  readonly projections: readonly Projection<M>[];
}

export function openLog<M>(open: OpenStorage, spec: LogSpec<M>): SqliteEventLog<M> {
  const { database, blobs, hasher, ids, readOnly } = open;
  return new SqliteEventLog<M>({
    ...spec,
    database,
    blobs,
    hasher,
    ids,
    codec: new IdentityCodec(),
    ...(readOnly === null ? {} : { readOnly }),
  });
}
