import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { requireContent } from "#sandbox/code-files.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";

const MAX_BYTES = 64 * 1024;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Reads bytes, not lines: an offset in bytes reads only the chunks it touches, however large the file. */
export const read = defineTool({
  name: "read",
  description:
    "Reads a text file of the workspace. Large files come in pieces: the answer says the total size and the offset to go on with. To compute over a file use run_code instead.",
  version: "1",
  effect: "read",
  input: z.object({
    path: z.string().describe("Path relative to the workspace, such as data/sales.csv"),
    offset: z.int().min(0).default(0).describe("First byte"),
    limit: z.int().min(1).max(MAX_BYTES).default(8_192).describe("Most bytes to read"),
    encoding: z
      .enum(["utf8", "base64"])
      .default("utf8")
      .describe("base64 gives exactly these bytes, of any file"),
  }),
  execute: ({ path, offset, limit, encoding }, { files }) => {
    requireWorkspacePath(path);
    const stat = files.stat(path);
    if (stat === null) requireContent(files, path);
    const total = stat?.bytes ?? 0;
    if (offset > total)
      throw new AppError(
        "invalid_request",
        `${path} has ${total} bytes; offset ${offset} is past its end`,
      );
    if (encoding === "base64") {
      const bytes = files.read(path, { offset, limit }) ?? new Uint8Array();
      const place = describePlace(offset, offset + bytes.length, total);
      return { path, bytes: total, ...place, base64: toBase64(bytes) };
    }
    // Up to 3 more bytes, so that a character that begins inside the range is never cut.
    const bytes = files.read(path, { offset, limit: limit + 3 }) ?? new Uint8Array();
    const start = continuationBytes(bytes, 0);
    const end = Math.min(bytes.length, limit + continuationBytes(bytes, limit));
    const text = decode(bytes.subarray(start, end));
    if (text === null)
      return {
        path,
        bytes: total,
        binary: true,
        truncated: true,
        note: 'Not UTF-8 text. Read it with encoding base64, or in run_code with readBytes(path) or readFile(path, "latin1").',
      };
    return { path, bytes: total, ...describePlace(offset + start, offset + end, total), text };
  },
});

function describePlace(offset: number, next: number, total: number) {
  return { offset, truncated: next < total, nextOffset: next < total ? next : null };
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function continuationBytes(bytes: Uint8Array, from: number): number {
  let count = 0;
  while (count < 3 && from + count < bytes.length && ((bytes[from + count] ?? 0) & 0xc0) === 0x80)
    count += 1;
  return count;
}

function decode(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return DECODER.decode(bytes);
  } catch {
    return null;
  }
}
