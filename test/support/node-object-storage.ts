/**
 * The storage of a Durable Object over node:sqlite, for hosts of objects in plain Node. Each transaction, and each statement
 * that writes outside of one, is a place where the process may die. That is harsher than the platform, which commits what a
 * turn wrote at once.
 */
import { DatabaseSync } from "node:sqlite";
import type { ObjectStorage } from "#adapters/sql/object-sqlite.ts";
import { copyOf } from "./copy-sqlite.ts";
import { Mortal } from "./mortal.ts";

type Exec = ObjectStorage["sql"]["exec"];
type Stored = ReturnType<ReturnType<Exec>["toArray"]>;

interface Process {
  readonly life: Mortal;
  readonly pass: (place: string) => void;
}

/** Outlives the processes that open it. */
export class NodeObjectFiles {
  readonly sqlite: DatabaseSync;
  /** Statements so far, and how many rows they gave. */
  readonly ran: { readonly query: string; readonly rows: number }[] = [];
  /** What happens while somebody waits for the files. */
  syncing: () => Promise<void> = () => Promise.resolve();

  constructor(sqlite: DatabaseSync = new DatabaseSync(":memory:")) {
    this.sqlite = sqlite;
  }

  /** Tables that a statement walks from end to end. */
  scannedBy(query: string): readonly string[] {
    const steps = this.sqlite.prepare(`EXPLAIN QUERY PLAN ${query}`).all();
    return steps.flatMap(({ detail }) => /^SCAN (\w+)/.exec(String(detail))?.[1] ?? []);
  }

  copy(): NodeObjectFiles {
    return new NodeObjectFiles(copyOf(this.sqlite));
  }

  /** `name` tells its places from those of other objects of the same process. */
  open(life: Mortal = new Mortal(), name: string = "object"): ObjectStorage {
    const pass = (place: string): void => life.pass(`${name}: ${place}`);
    return {
      sql: { exec: (query, ...bindings) => this.#exec({ life, pass }, query, bindings) },
      transactionSync: (work) => this.#transaction({ life, pass }, work),
      sync: async () => {
        life.live();
        await this.syncing();
      },
    };
  }

  #exec(
    { life, pass }: Process,
    query: string,
    bindings: readonly Parameters<Exec>[1][],
  ): ReturnType<Exec> {
    // A transaction that dies in the middle is one that never was: its end is the place.
    if (this.sqlite.isTransaction || isRead(query)) life.live();
    else pass(query.slice(0, 40));
    const rows = this.sqlite.prepare(query).all(...bindings);
    this.ran.push({ query, rows: rows.length });
    return { toArray: () => rows.map(toStored) };
  }

  #transaction<T>({ life, pass }: Process, work: () => T): T {
    life.live();
    this.sqlite.exec("BEGIN IMMEDIATE");
    try {
      const value = work();
      pass("commit");
      this.sqlite.exec("COMMIT");
      return value;
    } catch (error) {
      this.sqlite.exec("ROLLBACK");
      throw error;
    }
  }
}

function isRead(query: string): boolean {
  return /^\s*(SELECT|PRAGMA|WITH)/i.test(query);
}

/** As the platform gives them: bytes as an ArrayBuffer. */
function toStored(row: Record<string, unknown>): Stored[number] {
  const stored: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    stored[column] = value instanceof Uint8Array ? Uint8Array.from(value).buffer : value;
  }
  return stored as Stored[number];
}
