/** Every ErrorCode, read from the source of its union, so that a test can compare a mapping with it at run time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode } from "#shared/errors.ts";

export function codesOf(): ErrorCode[] {
  const source = readFileSync(join(import.meta.dirname, "../../src/shared/errors.ts"), "utf8");
  const union = /export type ErrorCode =([^;]+);/.exec(source)?.[1] ?? "";
  return [...union.matchAll(/"([a-z_]+)"/g)].map(([, code]) => code as ErrorCode);
}
