/** R2 in memory: the part of a bucket that the copies of anchors use, keys in R2's order. */
import type { AnchorBucket } from "#adapters/anchors/r2-anchor-copies.ts";

export class MemoryBucket implements AnchorBucket {
  readonly objects = new Map<string, Record<string, string>>();
  /** Objects of one listing, so that a test meets its pages. */
  pageSize = 1_000;

  async put(
    key: string,
    _content: Uint8Array,
    { customMetadata }: Parameters<AnchorBucket["put"]>[2],
  ): Promise<unknown> {
    if (this.objects.has(key)) return null;
    this.objects.set(key, customMetadata);
    return { key };
  }

  async list({
    prefix,
    startAfter = "",
    limit,
  }: Parameters<AnchorBucket["list"]>[0]): ReturnType<AnchorBucket["list"]> {
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > startAfter)
      .toSorted();
    const objects = keys.slice(0, Math.min(limit, this.pageSize)).map((key) => ({
      key,
      customMetadata: this.objects.get(key) ?? {},
    }));
    return { objects, truncated: objects.length < keys.length };
  }
}
