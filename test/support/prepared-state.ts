/**
 * State of a local server before its first start, made once for all files of a suite: its databases take longer to make
 * than most tests run. A file that copies it finds everything prepared, and shares nothing with the others but its key.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { DEV_CONFIG, devState, prepareState } from "../../scripts/lib/dev-state.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder to copy. Absent where a suite prepares none. */
    preparedState?: string;
  }
}

const ROOT = resolve(import.meta.dirname, "../..");

/** Answers how to clean up. */
export default async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-prepared-"));
  await prepareState(devState(directory), join(ROOT, DEV_CONFIG));
  project.provide("preparedState", directory);
  return () => rmSync(directory, { recursive: true, force: true });
}
