/** KeyStore in memory; passes test/contracts/key-store.ts. */
import type { KeyRecord, KeyStore } from "#ports/key-store.ts";

export class MemoryKeyStore implements KeyStore {
  readonly #byHash = new Map<string, KeyRecord>();
  /** Lookups so far. */
  lookups = 0;

  set(hash: string, record: KeyRecord): void {
    this.#byHash.set(hash, record);
  }

  async findByHash(hash: string): Promise<KeyRecord | null> {
    this.lookups += 1;
    return this.#byHash.get(hash) ?? null;
  }

  async findById(id: string): Promise<KeyRecord | null> {
    this.lookups += 1;
    return [...this.#byHash.values()].find((record) => record.id === id) ?? null;
  }
}
