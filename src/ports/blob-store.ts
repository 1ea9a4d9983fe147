/**
 * BlobStore: content-addressed bytes inside the object, in chunks that stay far below the 2 MB row.
 *
 * Synchronous, so that a blob commits with the event that names it. Large blobs may later be moved to an object store
 * by the outbox; then `get` answers null and `isRemote` true until `hydrate` has brought them back.
 */
export interface BlobStore {
  /** Stores once per address; storing again is a no-op. */
  put(address: string, content: Uint8Array): void;
  has(address: string): boolean;
  size(address: string): number | null;
  /** Null when absent. Reads only the chunks that the range touches. */
  get(
    address: string,
    range?: { readonly offset?: number; readonly limit?: number },
  ): Uint8Array | null;
  delete(address: string): void;
}
