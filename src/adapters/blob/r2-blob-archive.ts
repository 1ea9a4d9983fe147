/** BlobArchive over an R2 bucket, typed by structure. */
import type { BlobArchive } from "#ports/blob-archive.ts";

interface Bucket {
  put(key: string, content: Uint8Array): Promise<unknown>;
  delete(keys: string[]): Promise<void>;
}
/** R2 deletes at most this many keys a call. */
const DELETE_BATCH = 1_000;

export class R2BlobArchive implements BlobArchive {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async put(key: string, content: Uint8Array): Promise<void> {
    await this.#bucket.put(key, content);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += DELETE_BATCH) {
      await this.#bucket.delete(keys.slice(start, start + DELETE_BATCH));
    }
  }
}
