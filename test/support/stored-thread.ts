/** StoredThread: a thread's object from the inside, and its row in the directory. Looking at the row wakes nobody. */
import { env, runInDurableObject } from "cloudflare:test";
import { openLog, openStorage } from "#durable-objects/object-storage.ts";
import type { Migration } from "#db/migrate.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { Catalogue, EventLog } from "#ports/event-log.ts";
import type { Env } from "#src/env.ts";

const { AGENT, DB } = env as unknown as Env;

export class StoredThread {
  readonly name: string;
  readonly #key: readonly [tenant: string, agent: string, thread: string];

  constructor(tenant: string, agent: string, thread: string) {
    this.#key = [tenant, agent, thread];
    this.name = `v1/${tenant}/${agent}/${thread}`;
  }

  /** How far the directory has been told, or null when it has no such thread. */
  async lastSeq(): Promise<number | null> {
    const row = await DB.prepare(
      "SELECT last_seq FROM threads WHERE tenant = ? AND agent = ? AND thread = ?",
    )
      .bind(...this.#key)
      .first<{ last_seq: number }>();
    return row?.last_seq ?? null;
  }

  within<T>(work: (state: DurableObjectState) => T | Promise<T>): Promise<T> {
    return runInDurableObject(AGENT.getByName(this.name), (_object, state) => work(state));
  }

  /** Asks the object itself, past every route. */
  view(caller: object): Promise<{ readonly ok: boolean }> {
    return runInDurableObject(AGENT.getByName(this.name), (object) =>
      (object as unknown as { view(by: object): Promise<{ ok: boolean }> }).view(caller),
    );
  }

  /** Due time of the object's alarm. */
  alarm(): Promise<number | null> {
    return this.within((state) => state.storage.getAlarm());
  }

  /** Rows of every table, by name. */
  rows(): Promise<Record<string, number>> {
    return this.within(({ storage: { sql } }) => {
      const tables = sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
        )
        .toArray();
      const counts = tables.map(({ name }) => [
        name,
        sql.exec<{ n: number }>(`SELECT count(*) AS n FROM "${name}"`).one().n,
      ]);
      return Object.fromEntries(counts) as Record<string, number>;
    });
  }

  /** Works on the same storage through a second writer, as another build of the code would. */
  asAnotherBuild<T>(
    catalogue: Catalogue<ThreadEvents>,
    work: (log: EventLog<ThreadEvents>) => T,
  ): Promise<T> {
    const [tenant, agent, thread] = this.#key;
    return this.within((state) =>
      work(
        openLog(openStorage(state.storage, OBJECT_MIGRATIONS), {
          catalogue,
          defaults: { tenant, agent, thread },
          projections: [],
        }),
      ),
    );
  }
}

/** A build in which the state's event has another shape. */
export const NEWER_CATALOGUE: Catalogue<ThreadEvents> = {
  ...THREAD_CATALOGUE,
  versions: { ...THREAD_CATALOGUE.versions, "state.set": 2 },
};
/** A build that has added a table. */
export const NEWER_MIGRATIONS: readonly Migration[] = [
  ...OBJECT_MIGRATIONS,
  { id: "9999_later", sql: "CREATE TABLE `later` (`id` integer PRIMARY KEY NOT NULL) STRICT;" },
];
