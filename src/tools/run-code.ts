/**
 * run_code: JavaScript over the workspace, in the sandbox.
 *
 * `idempotent` although it writes: it has no network, and its writes and its result exist only once the outcome commits
 * (S4, T6), so running an interrupted attempt again changes nothing twice. Not `read`, since it does write.
 */
import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import type { SandboxOutput } from "#ports/sandbox.ts";
import { defineTool } from "#authoring/define-tool.ts";

const TIMEOUT_MS = 10_000;
const MEMORY_BYTES = 96 * 1024 * 1024;
const MAX_OUTPUT_BYTES = 8 * 1024;

export const runCode = defineTool({
  name: "run_code",
  description: [
    "Runs JavaScript (the body of an async function, strict mode) over the workspace and answers what it returns as JSON.",
    "Globals: readFile(path, encoding?) -> string; readBytes(path) -> Uint8Array; writeFile(path, stringOrBytes); deleteFile(path) -> boolean;",
    'listFiles(prefix?) -> string[] of paths; parseCsv(text, { header: true, numbers: false, delimiter: "," }) -> objects by column name; console.log.',
    "No network, timers, modules or Web APIs. End with `return value`. File changes are kept only when the code ends without an error.",
  ].join(" "),
  version: "1",
  effect: "idempotent",
  limits: { timeoutMs: TIMEOUT_MS + 10_000 },
  input: z.object({ code: z.string().min(1).max(100_000) }),
  execute: async ({ code }, { files, sandbox, signal }) => {
    const limits = {
      timeoutMs: TIMEOUT_MS,
      memoryBytes: MEMORY_BYTES,
      maxOutputBytes: MAX_OUTPUT_BYTES,
    };
    const result = await sandbox.run({ language: "javascript", code, files, limits, signal });
    if (!result.ok)
      throw new AppError(result.code, withOutput(result.message, result.output), {
        detail: { stdoutBytes: result.output.stdoutBytes },
      });
    const { stdout, stdoutBytes, truncated } = result.output;
    return {
      value: result.value,
      stdout,
      ...(truncated ? { truncated, stdoutBytes } : {}),
      written: files.changes().map((change) => change.path),
    };
  },
});

function withOutput(message: string, { stdout }: SandboxOutput): string {
  return stdout === "" ? message : `${message}\nPrinted before:\n${stdout}`;
}
