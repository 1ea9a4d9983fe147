/**
 * WriterClaim: which writer may append, and which event types the log holds.
 *
 * Meta `claim` is `<epoch> <token> <revision>`: the token is this writer's own, so two writers that opened at the same
 * epoch are told apart; the revision counts changes of meta `vocabulary`, the list of (type, version) pairs ever
 * appended. An append that reads the head compares one short string, read with it, and writes meta only when it takes
 * over or when a pair appears for the first time. Nothing here is believed from memory: a rolled-back write leaves a
 * stored claim that differs, and is then read again.
 */
import { AppError } from "#shared/errors.ts";
import type { LogStore } from "./log-store.ts";

const FORM = /^(\d+) (\S+) (\d+)$/;

interface Claim {
  readonly epoch: number;
  readonly token: string;
  readonly revision: number;
}
/** Event types at a version, as one key. */
export type VersionedType = `${string}@${number}`;

export function readVocabulary(store: LogStore): ReadonlySet<string> {
  const text = store.meta("vocabulary");
  return new Set(text === null ? [] : (JSON.parse(text) as readonly string[]));
}

/** A type or version that this build does not know, of those the log holds; null when it knows all. */
export function findUnknown(
  vocabulary: ReadonlySet<string>,
  versions: ReadonlyMap<string, number>,
): string | null {
  for (const entry of vocabulary) {
    const at = entry.lastIndexOf("@");
    const current = versions.get(entry.slice(0, at)) ?? 0;
    if (Number(entry.slice(at + 1)) > current) return entry;
  }
  return null;
}

export class WriterClaim {
  readonly epoch: number;
  readonly #store: LogStore;
  readonly #token: string;
  #claim: string | null = null;
  #revision = 0;
  #seen: Set<string>;

  constructor(store: LogStore, stored: string | null, token: string) {
    this.#store = store;
    this.#token = token;
    this.epoch = parse(stored).epoch + 1;
    this.#seen = new Set(readVocabulary(store));
  }

  /** Whether events of these types need no word of meta beside them, as long as the claim stands. */
  covers(types: readonly VersionedType[]): boolean {
    return types.every((type) => this.#seen.has(type));
  }

  /**
   * Called inside the append's transaction with the claim just read. `takeOver` runs when this writer's claim is not
   * the stored one. Throws `stale_epoch` when another writer holds the same or a newer epoch (rule L5).
   */
  hold(
    stored: string | null,
    types: readonly VersionedType[],
    takeOver: (vocabulary: ReadonlySet<string>) => void,
  ): void {
    let changed = false;
    if (stored === null || stored !== this.#claim) {
      changed = this.#reload(stored);
      takeOver(this.#seen);
    }
    const before = this.#seen.size;
    for (const type of types) this.#seen.add(type);
    if (this.#seen.size > before) {
      this.#revision += 1;
      this.#store.setMeta("vocabulary", JSON.stringify([...this.#seen].toSorted()));
      changed = true;
    }
    if (!changed) return;
    this.#claim = `${this.epoch} ${this.#token} ${this.#revision}`;
    this.#store.setMeta("claim", this.#claim);
  }

  /** True when the stored claim is not this writer's and has to be written. */
  #reload(stored: string | null): boolean {
    const holder = parse(stored);
    const own = holder.token === this.#token;
    if (!own && holder.epoch >= this.epoch) {
      throw new AppError("stale_epoch", "another writer has taken over this log", {
        kind: "faulted",
        detail: { epoch: this.epoch, holder: holder.epoch },
      });
    }
    this.#revision = holder.revision;
    this.#seen = new Set(readVocabulary(this.#store));
    this.#claim = own ? stored : null;
    return !own;
  }
}

function parse(stored: string | null): Claim {
  if (stored === null) return { epoch: 0, token: "", revision: 0 };
  const match = FORM.exec(stored);
  if (match === null)
    throw new AppError("log_corrupt", "the writer's claim cannot be read", { kind: "faulted" });
  return { epoch: Number(match[1]), token: match[2] ?? "", revision: Number(match[3]) };
}
