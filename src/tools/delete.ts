import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";

export const deleteFile = defineTool({
  name: "delete",
  description: "Deletes one file of the workspace.",
  version: "1",
  effect: "idempotent",
  input: z.object({ path: z.string() }),
  execute: ({ path }, { files }) => {
    requireWorkspacePath(path);
    if (!files.delete(path)) throw new AppError("not_found", `no file ${path}`);
    return { path, deleted: true };
  },
});
