/**
 * Brings a database to the newest schema, in one transaction, and says no with a value.
 *
 * Migrations are append-only: what was applied must be a prefix of what the code knows, text for text. An edited or
 * unknown one is refused, because the tables are then not what the code believes; the host opens the log read-only
 * (`migration_failed`, rule L6). The version lies in a table: a Durable Object refuses `PRAGMA user_version`.
 */
import { err, ok, type Result } from "#shared/result.ts";
import { utf8 } from "#shared/json.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface Migration {
  /** File name without its ending, e.g. `0000_spine`. Never changed once released. */
  readonly id: string;
  readonly sql: string;
}
export interface MigrationFailure {
  readonly reason: "migration_edited" | "migration_unknown" | "migration_error";
  readonly id: string;
  readonly message: string;
}

const BREAKPOINT = "--> statement-breakpoint";

/** Applies what is missing and returns its ids. Writes nothing when there is nothing to apply. */
export function migrate(
  database: SqlDatabase,
  migrations: readonly Migration[],
  hasher: Hasher,
): Result<{ readonly applied: readonly string[] }, MigrationFailure> {
  let current = "schema_migrations";
  try {
    const applied = readApplied(database);
    const refusal = findDivergence(applied, migrations, hasher);
    if (refusal !== null) return err(refusal);
    const pending = migrations.slice(applied.length);
    if (pending.length === 0) return ok({ applied: [] });
    database.transaction(() => {
      database.exec(
        "CREATE TABLE IF NOT EXISTS schema_migrations (id TEXT PRIMARY KEY NOT NULL, digest TEXT NOT NULL) STRICT, WITHOUT ROWID",
      );
      for (const migration of pending) {
        current = migration.id;
        for (const statement of toStatements(migration.sql)) database.exec(statement);
        database.exec(
          "INSERT INTO schema_migrations (id, digest) VALUES (?, ?)",
          migration.id,
          toDigest(migration, hasher),
        );
      }
    });
    return ok({ applied: pending.map((migration) => migration.id) });
  } catch (error) {
    return err({
      reason: "migration_error",
      id: current,
      message: error instanceof Error ? error.message : "unknown failure",
    });
  }
}

interface AppliedMigration {
  readonly id: string;
  readonly digest: string;
}

function readApplied(database: SqlDatabase): readonly AppliedMigration[] {
  const [table] = database.exec(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'",
  );
  if (table === undefined) return [];
  return database
    .exec("SELECT id, digest FROM schema_migrations ORDER BY id")
    .map((row) => ({ id: String(row["id"]), digest: String(row["digest"]) }));
}

function findDivergence(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  hasher: Hasher,
): MigrationFailure | null {
  for (const [index, { id, digest }] of applied.entries()) {
    const known = migrations[index];
    if (known === undefined || known.id !== id) {
      return {
        reason: "migration_unknown",
        id,
        message: `migration ${id} was applied and is not at its place in this build`,
      };
    }
    if (toDigest(known, hasher) !== digest) {
      return {
        reason: "migration_edited",
        id,
        message: `migration ${id} differs from the one that was applied`,
      };
    }
  }
  return null;
}

function toDigest(migration: Migration, hasher: Hasher): string {
  return hasher.sha256(utf8(migration.sql));
}

function toStatements(sql: string): readonly string[] {
  return sql
    .split(BREAKPOINT)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
