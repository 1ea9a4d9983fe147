/** Files as sandboxed code sees them: text by encoding, and errors that tell a model what to do instead. Pure. */
import { AppError } from "#shared/errors.ts";
import type { WorkspaceReader } from "#ports/workspace.ts";

const LISTED = 10;

/** Throws AppError `not_found` with names that do exist. */
export function requireContent(files: WorkspaceReader, path: string): Uint8Array {
  const content = files.read(path);
  if (content !== null) return content;
  const names = files.list().map((stat) => stat.path);
  const known =
    names.length === 0
      ? "the workspace is empty"
      : `files: ${names.slice(0, LISTED).join(", ")}${names.length > LISTED ? ", ..." : ""}`;
  throw new AppError("not_found", `no file ${path}; ${known}`);
}

/** A file and its text are held side by side, so half of the memory is what one can have. */
export function requireFits(path: string, bytes: number, memoryBytes: number): void {
  if (bytes * 2 <= memoryBytes) return;
  throw new AppError(
    "file_too_large",
    `${path} has ${bytes} bytes, too many for a sandbox of ${memoryBytes} bytes`,
    { kind: "exhausted" },
  );
}

/** Throws AppError `invalid_request` for bytes that are not of the encoding. A byte order mark is dropped. */
export function decodeText(path: string, content: Uint8Array, encoding = "utf-8"): string {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(content);
  } catch (cause) {
    const hint =
      'read it with another encoding, such as readFile(path, "latin1"), or with readBytes(path)';
    throw new AppError("invalid_request", `${path} is not ${encoding} text: ${hint}`, { cause });
  }
}
