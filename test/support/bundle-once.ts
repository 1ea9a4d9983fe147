/** The Worker that published clients are run against, bundled once for all files of the suite. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the bundle. */
    bundle: string;
  }
}

const ROOT = resolve(import.meta.dirname, "../..");
const MAIN = "test/support/sockets-worker.ts";
export const BUNDLE_ENTRY = "sockets-worker.js";
export const COMPATIBILITY_DATE = "2026-11-01";

/** Answers how to clean up. */
export default function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
  bundle(directory);
  project.provide("bundle", directory);
  return () => rmSync(directory, { recursive: true, force: true });
}

/** With a configuration of its own: neither pages nor bindings are needed to build. */
export function bundle(directory: string): void {
  const config = join(directory, "wrangler.json");
  writeFileSync(
    config,
    JSON.stringify({
      name: "test",
      main: join(ROOT, MAIN),
      compatibility_date: COMPATIBILITY_DATE,
      compatibility_flags: ["nodejs_compat", "global_fetch_strictly_public"],
      keep_names: false,
      rules: [{ type: "Text", globs: ["**/*.sql"], fallthrough: true }],
    }),
  );
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const args = ["deploy", "--dry-run", "-c", config, "--outdir", directory];
  execFileSync(process.execPath, [wrangler, ...args], { cwd: ROOT, stdio: "pipe" });
}
