/** CommandStore in table `commands` of the object's SQLite: the receipt of each idempotency key (K2). */
import type { Receipt } from "#kernel/commands.ts";
import type { CommandStore, StoredCommand } from "#ports/command-store.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export class SqliteCommandStore implements CommandStore {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  get(key: string): StoredCommand | null {
    const [row] = this.#sql.exec(
      "SELECT body_digest, receipt, at FROM commands WHERE key = ?",
      key,
    );
    if (row === undefined) return null;
    // Written by `put` of this class, in a column nothing else touches.
    const receipt = JSON.parse(String(row["receipt"])) as Receipt;
    return { bodyDigest: String(row["body_digest"]), receipt, at: Number(row["at"]) };
  }

  put(key: string, command: StoredCommand): void {
    this.#sql.exec(
      "INSERT INTO commands (key, body_digest, receipt, at) VALUES (?, ?, ?, ?)",
      key,
      command.bodyDigest,
      JSON.stringify(command.receipt),
      command.at,
    );
  }
}
