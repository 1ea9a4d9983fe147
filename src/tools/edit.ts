import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import { fromUtf8, utf8 } from "#shared/json.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { decodeText, requireContent } from "#sandbox/code-files.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";

/** Replaces text that occurs exactly once: an edit that could land in two places is refused, not guessed. */
export const edit = defineTool({
  name: "edit",
  description:
    "Replaces one piece of text in a file. `old` must occur exactly once, letter by letter; give enough of its surroundings.",
  version: "1",
  effect: "idempotent",
  input: z.object({ path: z.string(), old: z.string().min(1), new: z.string() }),
  execute: ({ path, old, new: replacement }, { files }) => {
    requireWorkspacePath(path);
    const content = requireContent(files, path);
    decodeText(path, content);
    // Decoded without dropping a byte order mark, so that what is not edited stays as it is.
    const text = fromUtf8(content);
    const at = text.indexOf(old);
    if (at < 0)
      throw new AppError(
        "invalid_request",
        `${path} does not hold the text to replace; read it again`,
      );
    if (text.includes(old, at + 1))
      throw new AppError(
        "invalid_request",
        `${path} holds the text to replace more than once; give more of its surroundings`,
      );
    const edited = utf8(text.slice(0, at) + replacement + text.slice(at + old.length));
    files.write(path, edited);
    return { path, bytes: edited.length, line: text.slice(0, at).split("\n").length };
  },
});
