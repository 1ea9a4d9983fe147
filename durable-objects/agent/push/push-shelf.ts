/**
 * PushShelf: who is to be told of which run and how far each was told, beside the log: what is secret is in no event.
 *
 * Who was told everything lies under a prefix of its own, so that a round reads those who wait and not a thread's history.
 */
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
const LIVE = "push:";
const OVER = "pushed:";

export class PushShelf {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  /** False when the run has too many. */
  put(push: StoredPush): boolean {
    const others = this.ofRun(push.runId).filter(({ configId }) => configId !== push.configId);
    if (others.length >= MAX_OF_RUN) return false;
    this.drop(push.runId, push.configId);
    this.#insert(push);
    return true;
  }

  /** How far it was told. One that was erased, deleted or replaced meanwhile stays so. */
  advance(before: StoredPush, after: StoredPush): void {
    const taken = this.#sql.exec(
      "DELETE FROM meta WHERE key = ? AND value = ? RETURNING key",
      keyOf(before),
      JSON.stringify(before),
    );
    if (taken.length > 0) this.#insert(after);
  }

  drop(runId: string, configId: string): boolean {
    const dropped = this.#sql.exec(
      "DELETE FROM meta WHERE key IN (?, ?) RETURNING key",
      keyOf({ runId, configId, over: false }),
      keyOf({ runId, configId, over: true }),
    );
    return dropped.length > 0;
  }

  ofRun(runId: string): readonly StoredPush[] {
    const all = [LIVE, OVER].flatMap((prefix) => this.#read(`${prefix}${runId}:`));
    return all.toSorted((a, b) => (a.configId < b.configId ? -1 : 1));
  }

  /** Of all runs that somebody is still to be told of. */
  live(): readonly StoredPush[] {
    return this.#read(LIVE);
  }

  #insert(push: StoredPush): void {
    const [key, value] = [keyOf(push), JSON.stringify(push)];
    this.#sql.exec("INSERT INTO meta (key, value) VALUES (?, ?)", key, value);
  }

  /** By range, which the key's index serves. */
  #read(prefix: string): readonly StoredPush[] {
    const rows = this.#sql.exec(
      "SELECT value FROM meta WHERE key >= ? AND key < ? ORDER BY key",
      prefix,
      // A semicolon is what follows the colon that ends a prefix.
      `${prefix.slice(0, -1)};`,
    );
    // Written by this class, under prefixes nothing else uses.
    return rows.map((row) => JSON.parse(String(row["value"])) as StoredPush);
  }
}

export function toPushView({ configId, runId, target }: StoredPush): PushConfigView {
  return { configId, runId, url: target.url, scheme: target.authentication?.scheme ?? null };
}

function keyOf({ runId, configId, over }: Pick<StoredPush, "runId" | "configId" | "over">): string {
  return `${over ? OVER : LIVE}${runId}:${configId}`;
}
