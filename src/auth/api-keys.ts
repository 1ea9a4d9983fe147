/**
 * API keys `hf_<43 characters>`: looked up by SHA-256, cached for at most a minute (Z1).
 *
 * A cached record is judged again at each use, so expiry is exact and only revocation may lag. A key in steady use is
 * read again in the background from half its lifetime on, so that its requests never wait for D1. Unknown keys are
 * remembered shortly and apart, so that guessing neither reaches D1 each time nor evicts real keys.
 */
import type { Clock } from "#ports/clock.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { KeyRecord, KeyStore } from "#ports/key-store.ts";
import type { Result } from "#shared/result.ts";
import { utf8 } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { BoundedCache } from "#shared/bounded-cache.ts";

export type KeyRefusal = "key_malformed" | "key_unknown" | "key_revoked" | "key_expired";
/** Keeps background work alive after the response; in a Worker this is `waitUntil`. */
export type Defer = (work: Promise<void>) => void;

export const KEY_TTL_MS = 60_000;
const REFRESH_AFTER_MS = 30_000;
/** Short, so that a key made just after a first wrong try works soon. */
const UNKNOWN_TTL_MS = 10_000;
const KNOWN_CAPACITY = 10_000;
const UNKNOWN_CAPACITY = 1_000;
const KEY_TEXT = /^hf_[A-Za-z0-9_-]{43}$/;

interface Known {
  readonly record: KeyRecord;
  /** When the read began: what the store says may have changed from then on. */
  readonly readAt: number;
  readonly refreshing: boolean;
}

export interface ApiKeysDeps {
  readonly keys: KeyStore;
  readonly hasher: Hasher;
  readonly clock: Clock;
}

export class ApiKeys {
  readonly #deps: ApiKeysDeps;
  readonly #known = new BoundedCache<Known>(KNOWN_CAPACITY);
  readonly #unknown = new BoundedCache<number>(UNKNOWN_CAPACITY);

  constructor(deps: ApiKeysDeps) {
    this.#deps = deps;
  }

  /** Throws AppError `unavailable` when the store cannot be read: it fails closed. */
  async findByText(text: string, defer: Defer): Promise<Result<KeyRecord, KeyRefusal>> {
    if (!KEY_TEXT.test(text)) return err("key_malformed");
    const hash = this.#deps.hasher.sha256(utf8(text));
    return this.#find(`hash:${hash}`, () => this.#deps.keys.findByHash(hash), defer);
  }

  async findById(id: string, defer: Defer): Promise<Result<KeyRecord, KeyRefusal>> {
    return this.#find(`id:${id}`, () => this.#deps.keys.findById(id), defer);
  }

  async #find(
    entry: string,
    read: () => Promise<KeyRecord | null>,
    defer: Defer,
  ): Promise<Result<KeyRecord, KeyRefusal>> {
    const now = this.#deps.clock.now();
    const known = this.#known.get(entry);
    if (known !== undefined && now - known.readAt < KEY_TTL_MS) {
      if (now - known.readAt >= REFRESH_AFTER_MS && !known.refreshing) {
        this.#known.set(entry, { ...known, refreshing: true });
        defer(this.#refresh(entry, read));
      }
      return judge(known.record, now);
    }
    const unknownSince = this.#unknown.get(entry);
    if (unknownSince !== undefined && now - unknownSince < UNKNOWN_TTL_MS)
      return err("key_unknown");
    const record = await this.#read(entry, read);
    return record === null ? err("key_unknown") : judge(record, this.#deps.clock.now());
  }

  async #read(entry: string, read: () => Promise<KeyRecord | null>): Promise<KeyRecord | null> {
    const readAt = this.#deps.clock.now();
    const record = await read();
    if (record === null) {
      this.#known.delete(entry);
      this.#unknown.set(entry, readAt);
    } else {
      this.#unknown.delete(entry);
      this.#known.set(entry, { record, readAt, refreshing: false });
    }
    return record;
  }

  async #refresh(entry: string, read: () => Promise<KeyRecord | null>): Promise<void> {
    try {
      await this.#read(entry, read);
    } catch {
      // The entry stays until its minute is over; then a request reads in the foreground and reports the failure.
    }
  }
}

function judge(record: KeyRecord, now: number): Result<KeyRecord, KeyRefusal> {
  if (record.revokedAt !== null) return err("key_revoked");
  if (record.expiresAt !== null && record.expiresAt <= now) return err("key_expired");
  return ok(record);
}
