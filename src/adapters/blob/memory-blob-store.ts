/** BlobStore in a MemoryDatabase, whole values instead of chunks. */
import type { MemoryDatabase, MemoryTable } from "#adapters/log/memory-database.ts";
import type { BlobStore } from "#ports/blob-store.ts";

export class MemoryBlobStore implements BlobStore {
  readonly #contents: MemoryTable<Uint8Array>;

  constructor(database: MemoryDatabase) {
    this.#contents = database.table("blobs");
  }

  put(address: string, content: Uint8Array): void {
    if (!this.has(address)) this.#contents.set(address, content.slice());
  }

  has(address: string): boolean {
    return this.#contents.get(address) !== undefined;
  }

  size(address: string): number | null {
    return this.#contents.get(address)?.byteLength ?? null;
  }

  get(
    address: string,
    range: { readonly offset?: number; readonly limit?: number } = {},
  ): Uint8Array | null {
    const content = this.#contents.get(address);
    if (content === undefined) return null;
    const start = Math.max(range.offset ?? 0, 0);
    return content.slice(start, start + Math.max(range.limit ?? content.byteLength, 0));
  }

  delete(address: string): void {
    this.#contents.delete(address);
  }
}
