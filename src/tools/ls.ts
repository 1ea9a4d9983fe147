import { z } from "zod";
import { defineTool } from "#authoring/define-tool.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";

const MAX_ENTRIES = 200;

export const ls = defineTool({
  name: "ls",
  description:
    "Lists files and folders of one folder of the workspace, with sizes in bytes. Without a path: the top.",
  version: "1",
  effect: "read",
  input: z.object({ path: z.string().default("").describe("Folder, empty for the top") }),
  execute: ({ path }, { files }) => {
    const folder = path === "" ? "" : `${requireWorkspacePath(path.replace(/\/$/, ""))}/`;
    const entries = new Map<string, { files: number; bytes: number }>();
    for (const stat of files.list(folder)) {
      const [head = "", ...rest] = stat.path.slice(folder.length).split("/");
      const name = rest.length === 0 ? head : `${head}/`;
      const entry = entries.get(name) ?? { files: 0, bytes: 0 };
      entries.set(name, { files: entry.files + 1, bytes: entry.bytes + stat.bytes });
    }
    const listed = [...entries]
      .slice(0, MAX_ENTRIES)
      .map(([name, { files: count, bytes }]) =>
        name.endsWith("/") ? { name, bytes, files: count } : { name, bytes },
      );
    return {
      folder: path === "" ? "/" : folder,
      entries: listed,
      total: entries.size,
      truncated: entries.size > MAX_ENTRIES,
    };
  },
});
