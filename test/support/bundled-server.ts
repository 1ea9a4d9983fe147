/** The Worker that the suite's run has bundled, with stores of its own. */
import { inject } from "vitest";
import { serveBundle, type BundledServer, type Documents } from "./serve-bundle.ts";

export type { BundledServer };

export async function startBundled(documents: Documents = {}): Promise<BundledServer> {
  return serveBundle(inject("bundle"), documents);
}
