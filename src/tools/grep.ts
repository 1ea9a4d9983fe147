/**
 * grep: literal text, line by line. No regular expressions: a pattern comes from a model and runs on the object's own
 * thread, where nothing could stop one that backtracks. Patterns are for run_code, where the sandbox can be stopped.
 */
import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { matchesGlob } from "./glob.ts";

const MAX_MATCHES = 100;
const MAX_LINE_CHARS = 300;
/** Bytes looked through in one call; about 0.3 s. */
const MAX_SEARCHED_BYTES = 32 * 1024 * 1024;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export const grep = defineTool({
  name: "grep",
  description:
    "Finds lines that hold a literal text, in all files or those of a glob. Answers path, line number and line. For regular expressions use run_code.",
  version: "1",
  effect: "read",
  input: z.object({
    text: z.string().min(1).max(1_000).describe("Literal text to look for"),
    glob: z.string().min(1).max(256).default("**"),
    ignoreCase: z.boolean().default(false),
  }),
  execute: ({ text, glob, ignoreCase }, { files }) => {
    const fold = (value: string): string => (ignoreCase ? value.toLowerCase() : value);
    const wanted = fold(text);
    const matches: Match[] = [];
    const skipped: string[] = [];
    let total = 0;
    let searched = 0;
    for (const { path, bytes } of files.list().filter((stat) => matchesGlob(glob, stat.path))) {
      searched += bytes;
      if (searched > MAX_SEARCHED_BYTES)
        throw new AppError(
          "invalid_request",
          `more than ${MAX_SEARCHED_BYTES} bytes to search: narrow the glob`,
        );
      const content = decode(files.read(path));
      if (content === null) {
        skipped.push(path);
        continue;
      }
      for (const [index, line] of content.split(/\r?\n/).entries()) {
        if (!fold(line).includes(wanted)) continue;
        total += 1;
        if (matches.length < MAX_MATCHES)
          matches.push({
            path,
            line: index + 1,
            text: line.slice(0, MAX_LINE_CHARS).toWellFormed(),
          });
      }
    }
    return {
      matches: matches.map((match) => ({ ...match })),
      total,
      truncated: total > matches.length,
      notText: skipped.slice(0, 20),
    };
  },
});

function decode(bytes: Uint8Array | null): string | null {
  if (bytes === null || bytes.includes(0)) return null;
  try {
    return DECODER.decode(bytes);
  } catch {
    return null;
  }
}
