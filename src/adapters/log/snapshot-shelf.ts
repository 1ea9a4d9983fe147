/**
 * SnapshotShelf: the newest two folded states of each fold.
 *
 * A snapshot is a shortcut, never a source: one of another fold version, or whose bytes do not fit their digest, is
 * passed over and the log is folded again (rule L9). It is dropped at the next save, so that reading writes nothing.
 */
import { fromUtf8, utf8, type Json } from "#shared/json.ts";
import type { Fold } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import { readBase } from "./log-base.ts";
import type { LogStore, SnapshotEntry } from "./log-store.ts";
import { MAX_INLINE_BYTES } from "./payload-store.ts";

const KEPT = 2;

export class SnapshotShelf {
  readonly #store: LogStore;
  readonly #hasher: Hasher;

  constructor(store: LogStore, hasher: Hasher) {
    this.#store = store;
    this.#hasher = hasher;
  }

  newest<M, S>(
    fold: Fold<M, S>,
    headSeq: number,
  ): { readonly state: S; readonly seq: number } | null {
    for (const row of this.#store.snapshots(fold.id)) {
      if (!this.#isUsable(fold, row) || row.seq > headSeq) continue;
      const bytes =
        row.ref === null
          ? this.#store.snapshotState(fold.id, row.seq)
          : this.#store.blobs.get(row.ref);
      if (bytes === null || this.#hasher.sha256(bytes) !== row.digest) continue;
      return { state: fold.restore(JSON.parse(fromUtf8(bytes)) as Json), seq: row.seq };
    }
    return null;
  }

  save<M, S>(fold: Fold<M, S>, state: S, seq: number): void {
    const bytes = utf8(JSON.stringify(fold.dump(state)));
    const digest = this.#hasher.sha256(bytes);
    // Named by place as well as content: two snapshots of one content must not share chunks that either may drop.
    const ref = bytes.byteLength > MAX_INLINE_BYTES ? `snapshot:${fold.id}:${seq}:${digest}` : null;
    this.#store.transaction(() => {
      if (seq === readBase(this.#store).seq) this.#clearTo(seq);
      else this.#purge(fold, seq);
      if (ref !== null) this.#store.blobs.put(ref, bytes);
      const { id, version } = fold;
      this.#store.insertSnapshot({
        fold: id,
        seq,
        version,
        digest,
        ref,
        state: ref === null ? bytes : null,
      });
    });
  }

  /**
   * Folded states hold content of the events behind them, so an erasure takes all of them but the one that stands for
   * pruned events: those are gone, and nothing could fold it again.
   */
  clear(): void {
    const base = readBase(this.#store).seq;
    for (const row of this.#store.snapshots(null))
      if (row.seq > base || base === 0) this.#drop(row);
  }

  #clearTo(seq: number): void {
    for (const row of this.#store.snapshots(null)) if (row.seq <= seq) this.#drop(row);
  }

  #isUsable<M, S>({ version, restorable }: Fold<M, S>, row: SnapshotEntry): boolean {
    if (row.version === version) return true;
    const isRoot = row.seq > 0 && row.seq === readBase(this.#store).seq;
    return isRoot && row.version < version && row.version >= (restorable ?? version);
  }

  #purge<M, S>(fold: Fold<M, S>, seq: number): void {
    let kept = 1;
    for (const row of this.#store.snapshots(fold.id)) {
      if (row.seq <= readBase(this.#store).seq) continue;
      const usable = row.version === fold.version && row.seq !== seq;
      if (usable && kept < KEPT) kept += 1;
      else this.#drop(row);
    }
  }

  #drop(row: SnapshotEntry): void {
    if (row.ref !== null) this.#store.blobs.delete(row.ref);
    this.#store.deleteSnapshot(row.fold, row.seq);
  }
}
