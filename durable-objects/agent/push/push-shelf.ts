/** PushShelf: who is to be told of which run and how far each was told, beside the log: what is secret is in no event. */
import type { PushConfigView, PushTarget } from "#ports/push.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface StoredPush {
  readonly runId: string;
  readonly configId: string;
  readonly target: PushTarget;
  readonly origin: string;
  /** Of the log: everything up to it was told, or is not told to this one. */
  readonly seq: number;
  /** What was told last; null for nothing. */
  readonly state: string | null;
  /** Attempts at the next one that failed. */
  readonly failed: number;
  /** Epoch ms before which it is not tried again. */
  readonly notBefore: number;
  /** Nothing more is told. */
  readonly over: boolean;
}

/** Of one run; a thread holds few runs at a time that anybody waits for. */
const MAX_OF_RUN = 10;
const PREFIX = "push:";

export class PushShelf {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  /** False when the run has too many. */
  put(push: StoredPush): boolean {
    const key = keyOf(push);
    const others = this.ofRun(push.runId).filter((other) => keyOf(other) !== key);
    if (others.length >= MAX_OF_RUN) return false;
    this.#sql.exec(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      key,
      JSON.stringify(push),
    );
    return true;
  }

  /** How far it was told. One that was erased, deleted or replaced meanwhile stays so. */
  advance(before: StoredPush, after: StoredPush): void {
    this.#sql.exec(
      "UPDATE meta SET value = ? WHERE key = ? AND value = ?",
      JSON.stringify(after),
      keyOf(before),
      JSON.stringify(before),
    );
  }

  drop(runId: string, configId: string): boolean {
    const dropped = this.#sql.exec(
      "DELETE FROM meta WHERE key = ? RETURNING key",
      keyOf({ runId, configId }),
    );
    return dropped.length > 0;
  }

  ofRun(runId: string): readonly StoredPush[] {
    return this.#read(`${PREFIX}${runId}:`);
  }

  /** Of all runs that somebody is still to be told of. */
  live(): readonly StoredPush[] {
    return this.#read(PREFIX).filter(({ over }) => !over);
  }

  #read(prefix: string): readonly StoredPush[] {
    const rows = this.#sql.exec(
      "SELECT value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key",
      prefix.length,
      prefix,
    );
    // Written by this class, under a prefix nothing else uses.
    return rows.map((row) => JSON.parse(String(row["value"])) as StoredPush);
  }
}

export function toPushView({ configId, runId, target }: StoredPush): PushConfigView {
  return { configId, runId, url: target.url, scheme: target.authentication?.scheme ?? null };
}

function keyOf({ runId, configId }: Pick<StoredPush, "runId" | "configId">): string {
  return `${PREFIX}${runId}:${configId}`;
}
