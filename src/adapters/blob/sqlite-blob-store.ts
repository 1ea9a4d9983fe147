/**
 * BlobStore in SQLite: content in chunks of 512 KiB, so that no row comes near the platform's limit (rule L8) and a
 * range reads only the chunks that it touches. Joins the caller's transaction, so a blob commits with its event.
 */
import { invariant } from "#shared/exhaustive.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export const CHUNK_BYTES = 524_288;

export class SqliteBlobStore implements BlobStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  put(address: string, content: Uint8Array): void {
    this.#database.transaction(() => {
      if (this.has(address)) return;
      const chunks = Math.ceil(content.byteLength / CHUNK_BYTES);
      this.#database.exec(
        "INSERT INTO blobs (address, bytes, chunks, location) VALUES (?, ?, ?, 'object')",
        address,
        content.byteLength,
        chunks,
      );
      for (let idx = 0; idx < chunks; idx += 1) {
        this.#database.exec(
          "INSERT INTO blob_chunks (address, idx, content) VALUES (?, ?, ?)",
          address,
          idx,
          // A copy: a view into a large buffer would bind all of that buffer on some runtimes.
          content.slice(idx * CHUNK_BYTES, (idx + 1) * CHUNK_BYTES),
        );
      }
    });
  }

  has(address: string): boolean {
    return this.size(address) !== null;
  }

  size(address: string): number | null {
    const [row] = this.#database.exec("SELECT bytes FROM blobs WHERE address = ?", address);
    return row === undefined ? null : Number(row["bytes"]);
  }

  get(
    address: string,
    range: { readonly offset?: number; readonly limit?: number } = {},
  ): Uint8Array | null {
    const size = this.size(address);
    if (size === null) return null;
    const start = Math.min(Math.max(range.offset ?? 0, 0), size);
    const end = Math.min(start + Math.max(range.limit ?? size, 0), size);
    const result = new Uint8Array(end - start);
    if (end === start) return result;
    const first = Math.floor(start / CHUNK_BYTES);
    const last = Math.floor((end - 1) / CHUNK_BYTES);
    for (let idx = first; idx <= last; idx += 1) {
      const chunk = this.#chunk(address, idx);
      const base = idx * CHUNK_BYTES;
      const part = chunk.subarray(
        Math.max(start - base, 0),
        Math.min(end - base, chunk.byteLength),
      );
      result.set(part, Math.max(base - start, 0));
    }
    return result;
  }

  delete(address: string): void {
    this.#database.transaction(() => {
      this.#database.exec("DELETE FROM blob_chunks WHERE address = ?", address);
      this.#database.exec("DELETE FROM blobs WHERE address = ?", address);
    });
  }

  #chunk(address: string, idx: number): Uint8Array {
    const [row] = this.#database.exec(
      "SELECT content FROM blob_chunks WHERE address = ? AND idx = ?",
      address,
      idx,
    );
    const content = row?.["content"];
    invariant(content instanceof Uint8Array, `chunk ${idx} of ${address} is stored with its blob`);
    return content;
  }
}
