/** Opens a log over Node's SQLite with the object's own migrations: what tests of kernel and runner stand on. */
import { SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import type { ChainedLogOptions } from "#adapters/log/log-options.ts";
import { SqliteEventLog } from "#adapters/log/sqlite-event-log.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { migrate } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { Catalogue } from "#ports/event-log.ts";

export interface NodeLog<M> {
  readonly database: NodeSqlite;
  readonly blobs: BlobStore;
  readonly log: SqliteEventLog<M>;
}

/** `database` given again is a restart on the same state. Throws when the migrations do not apply. */
export function openNodeLog<M>(
  catalogue: Catalogue<M>,
  options: Partial<ChainedLogOptions<M>> = {},
  database: NodeSqlite = new NodeSqlite(),
): NodeLog<M> {
  const hasher = options.hasher ?? new NodeHasher();
  const migrated = migrate(database, OBJECT_MIGRATIONS, hasher);
  if (!migrated.ok) throw new Error(migrated.error.message);
  const blobs = new SqliteBlobStore(database);
  const log = new SqliteEventLog<M>({
    ids: new RandomIds(),
    codec: new IdentityCodec(),
    ...options,
    hasher,
    catalogue,
    database,
    blobs,
  });
  return { database, blobs, log };
}
