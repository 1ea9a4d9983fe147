/** Lists files of the repository; paths are relative to its root, where every suite runs. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export function filesUnder(folder: string, pattern: RegExp): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => pattern.test(file) && !file.includes("node_modules"))
    .toSorted();
}

export function sourceFiles(folder: string): readonly string[] {
  return filesUnder(folder, /\.(ts|tsx|mjs)$/);
}
