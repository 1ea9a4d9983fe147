import { z } from "zod";
import { defineTool } from "#authoring/define-tool.ts";
import { matchesGlob } from "./glob.ts";

const MAX_FILES = 200;

export const find = defineTool({
  name: "find",
  description:
    "Finds files of the workspace by a glob over the whole path: * within a folder, ** across folders, ? one character. Example: **/*.csv",
  version: "1",
  effect: "read",
  input: z.object({ glob: z.string().min(1).max(256) }),
  execute: ({ glob }, { files }) => {
    const found = files.list().filter((stat) => matchesGlob(glob, stat.path));
    return {
      files: found.slice(0, MAX_FILES).map(({ path, bytes }) => ({ path, bytes })),
      total: found.length,
      truncated: found.length > MAX_FILES,
    };
  },
});
