/** The event-log contract over a Durable Object's own SQLite, inside workerd. */
/// <reference types="@cloudflare/vitest-plugin/types" />
import { env, runInDurableObject } from "cloudflare:test";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import { ObjectSqlite } from "#adapters/sql/object-sqlite.ts";
import { migrate } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { Env } from "#src/env.ts";
import { eventLogContract } from "#test/contracts/event-log.ts";
import { createSqlLogHarness } from "#test/contracts/event-log-harness.ts";

// The bindings of wrangler.dev.toml.
const { LEDGER } = env as unknown as Pick<Env, "LEDGER">;
const hasher = new NodeHasher();
let objects = 0;

// Any class with SQLite will do: the harness brings its own tables, under a name that nothing else uses.
eventLogContract("object sqlite in workerd", async (body) => {
  objects += 1;
  const stub = LEDGER.getByName(`event-log-contract-${objects}`);
  await runInDurableObject(stub, async (_object, state) => {
    const database = new ObjectSqlite(state.storage);
    const migrated = migrate(database, OBJECT_MIGRATIONS, hasher);
    if (!migrated.ok) throw new Error(migrated.error.message);
    await body(createSqlLogHarness({ database, hasher, ids: new RandomIds() }));
  });
});
