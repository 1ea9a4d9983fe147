import { z } from "zod";
import { utf8 } from "#shared/json.ts";
import { defineTool } from "#authoring/define-tool.ts";

/** `idempotent`: the file is staged and commits with the outcome (T6), so an interrupted attempt left nothing behind. */
export const write = defineTool({
  name: "write",
  description:
    "Writes a text file of the workspace, replacing the whole of it if it exists. To change a part use edit.",
  version: "1",
  effect: "idempotent",
  input: z.object({ path: z.string(), content: z.string() }),
  execute: ({ path, content }, { files }) => {
    const existed = files.stat(path) !== null;
    const bytes = utf8(content);
    files.write(path, bytes);
    return { path, bytes: bytes.length, replaced: existed };
  },
});
