import { describe } from "vitest";
import { D1AnchorStore } from "#adapters/anchors/d1-anchor-store.ts";
import { R2AnchorCopies } from "#adapters/anchors/r2-anchor-copies.ts";
import { MemoryBucket } from "#test/support/memory-bucket.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { anchorIndexContract, anchorStoreContract } from "./anchor-store.ts";

describe("D1AnchorStore", () => {
  anchorStoreContract(() => new D1AnchorStore(createNodeD1().d1));
  anchorIndexContract(() => new D1AnchorStore(createNodeD1().d1));
});
describe("R2AnchorCopies", () => {
  anchorStoreContract(() => {
    const bucket = new MemoryBucket();
    bucket.pageSize = 2;
    return new R2AnchorCopies(bucket);
  });
});
