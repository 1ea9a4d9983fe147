/**
 * BlobArchive: the second home of large content, outside the object: exports and restores read it without waking a thread.
 *
 * The object's own chunks stay the truth. Puts come from the outbox, so at least once: the same key always has the same
 * content.
 */
export interface BlobArchive {
  put(key: string, content: Uint8Array): Promise<void>;
  /** Idempotent: a key that is not there is no error. */
  delete(keys: readonly string[]): Promise<void>;
}
