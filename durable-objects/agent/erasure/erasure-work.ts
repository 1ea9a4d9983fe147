/**
 * ErasureWork: carries the erasure under way through every store, from whatever point an earlier process left it at.
 *
 * E1 Nothing is reported done before every store has answered; one that fails leaves the erasure open, and the alarm comes
 *    back to it (H31). E2 What leaves the object goes first, because the payloads say what lies outside; and the outbox has
 *    told its required consumers of every event before that event's content goes (H34). E3 A store is counted before it is
 *    erased and marked when it is, so a repeated attempt changes no count. E4 Counts, costs and the chain stay (H33).
 */
import { StorageWiper } from "#adapters/erasure/storage-wiper.ts";
import { ThreadContent } from "#adapters/erasure/thread-content.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { isErasable } from "#kernel/erasure.ts";
import type { KeptRun, ThreadEvent } from "#kernel/events.ts";
import { quietSchedules } from "#kernel/schedules.ts";
import type { OpenErasure, ThreadState } from "#kernel/state.ts";
import type { Eraser, ErasureScope } from "#ports/eraser.ts";
import { AppError } from "#shared/errors.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import {
  counted,
  dropProgress,
  finished,
  readProgress,
  writeProgress,
  type ErasureProgress,
} from "./erasure-progress.ts";

/** Events decoded at a time: their payloads are in memory together. */
const SLICE = 20;
const ARCHIVE = "archive_copies";
const LOG = "log";
const OBJECT = "object";

export class ErasureWork {
  readonly #host: ThreadHost;
  readonly #erasers: readonly Eraser[];
  readonly #content: ThreadContent;

  constructor(host: ThreadHost, erasers: readonly Eraser[]) {
    this.#host = host;
    this.#erasers = erasers;
    this.#content = new ThreadContent(host.storage.database);
  }

  /** True while something is left to do. Throws where a store is away. */
  async run(): Promise<boolean> {
    const open = this.#host.runtime.state.erasure;
    if (open === null) return false;
    if (!(await this.#outboxHasPassed(open))) return true;
    const scope: ErasureScope = { ...this.#host.address, runId: open.runId };
    for (const eraser of this.#erasers) await this.#eraseOutside(open, eraser, scope);
    await this.#eraseArchive(open);
    this.#eraseLog(open);
    this.#eraseObject(open);
    await this.#wipe(open);
    // A call that was closed may have told its result meanwhile; then all of this is due for that event too, also outside,
    // where the outbox takes a copy of it.
    if (!this.#slices(open, open.seq).next().done) {
      this.#save(open, { ...this.#progress(open), done: [], wiped: null });
      return true;
    }
    this.#complete(open);
    return false;
  }

  async #outboxHasPassed({ seq }: OpenErasure): Promise<boolean> {
    const hasPassed = (): boolean => this.#host.log.prunable() >= seq;
    try {
      while (await this.#host.drainOutbox());
    } catch (error) {
      // A consumer that is not required may lag behind an erasure.
      if (!hasPassed()) throw error;
    }
    return hasPassed();
  }

  async #eraseOutside(open: OpenErasure, eraser: Eraser, scope: ErasureScope): Promise<void> {
    const { store } = eraser;
    let progress = this.#progress(open);
    if (progress.done.includes(store)) return;
    if (!progress.stores.some((known) => known.store === store)) {
      progress = counted(progress, [{ store, count: await eraser.count(scope) }]);
      this.#save(open, progress);
    }
    await eraser.erase(scope);
    this.#save(open, finished(this.#progress(open), store));
  }

  async #eraseArchive(open: OpenErasure): Promise<void> {
    if (this.#progress(open).done.includes(ARCHIVE)) return;
    let count = 0;
    for (const events of this.#slices(open)) {
      // Of events that still have their payloads, so an attempt that failed finds the same keys again.
      count += await this.#host.forgetArchived(events);
    }
    const progress = counted(this.#progress(open), [{ store: ARCHIVE, count }]);
    this.#save(open, finished(progress, ARCHIVE));
  }

  #eraseLog(open: OpenErasure): void {
    if (this.#progress(open).done.includes(LOG)) return;
    for (const events of this.#slices(open)) {
      this.#host.storage.database.transaction(() => {
        const seqs = events.map(({ header }) => header.seq);
        const chunks = events.reduce((sum, event) => sum + this.#chunksOf(event), 0);
        const snapshots = this.#content.snapshots();
        const files = open.runId === null ? 0 : this.#host.forgetFiles(events);
        const { erased } = this.#host.log.erase(seqs);
        const stores = [
          { store: "log_payloads", count: erased },
          { store: "payload_chunks", count: chunks },
          { store: "snapshots", count: snapshots },
          ...(open.runId === null ? [] : [{ store: "files", count: files }]),
        ];
        this.#save(open, counted(this.#progress(open), stores));
      });
    }
    // In the same turn as the last of them, so that nothing that was read before is used after.
    this.#host.runtime.forget({ refold: open.target === "run" });
    this.#save(open, finished(this.#progress(open), LOG));
  }

  #eraseObject(open: OpenErasure): void {
    if (this.#progress(open).done.includes(OBJECT)) return;
    this.#host.storage.database.transaction(() => {
      const stores = this.#content.erase({ runId: open.runId });
      if (open.runId === null) this.#host.log.amendBase(THREAD_FOLD, withoutWords);
      this.#save(open, finished(counted(this.#progress(open), stores), OBJECT));
    });
  }

  async #wipe(open: OpenErasure): Promise<void> {
    if (this.#progress(open).wiped !== null) return;
    const wiped = await new StorageWiper(this.#host.storage).wipe(this.#content.bytesEverHeld());
    this.#save(open, { ...this.#progress(open), wiped });
  }

  #complete(open: OpenErasure): void {
    const { stores, wiped } = this.#progress(open);
    const request = this.#host.log.get(open.seq);
    const completed = this.#host.runtime.submit(
      {
        type: "complete_erasure",
        erasureId: open.id,
        stores,
        wiped: wiped ?? "overwritten",
        kept: this.#kept(open),
      },
      { actor: request?.header.actor ?? "runtime", idempotencyKey: null, bodyDigest: "" },
      () => dropProgress(this.#host, open.id),
    );
    if (!completed.ok)
      throw new AppError("unavailable", "the erasure could not be recorded", { retryable: true });
    this.#host.runtime.saveSnapshot();
  }

  /** In order, what is in its scope and not erased yet. Each slice is read when it is asked for. */
  *#slices(open: OpenErasure, after = 0): Generator<readonly ThreadEvent[], void> {
    for (let from = after + 1; ;) {
      const events = this.#host.log.read({ from, limit: SLICE });
      const last = events.at(-1);
      if (last === undefined) return;
      from = last.header.seq + 1;
      const found = events.filter(
        ({ type, header, payload }) =>
          payload !== null &&
          isErasable(type) &&
          (open.runId === null || header.run === open.runId),
      );
      if (found.length > 0) yield found;
    }
  }

  #chunksOf({ header: { payload } }: ThreadEvent): number {
    return payload.ref === null ? 0 : this.#content.chunksOf(payload.ref);
  }

  #kept({ runId }: OpenErasure): readonly KeptRun[] {
    const runs = this.#host.storage.database.exec(
      "SELECT run_id, finish, reason, tokens FROM runs WHERE run_id = ?1 OR ?1 IS NULL ORDER BY start_seq",
      runId,
    );
    return runs.map((row) => ({
      runId: String(row["run_id"]),
      finish: row["finish"] === null ? null : String(row["finish"]),
      reason: row["reason"] === null ? null : String(row["reason"]),
      tokens: Number(row["tokens"]),
    }));
  }

  #progress(open: OpenErasure): ErasureProgress {
    return readProgress(this.#host, open.id);
  }

  #save(open: OpenErasure, progress: ErasureProgress): void {
    writeProgress(this.#host, open.id, progress);
  }
}

/** What pruned events left in the state that stands for them. The window holds places only. */
function withoutWords(state: ThreadState): ThreadState {
  const schedules = quietSchedules(state.schedules);
  return { ...state, title: null, shared: null, plan: [], schedules };
}
