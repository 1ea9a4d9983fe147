import { defineAgent } from "#authoring/define-agent.ts";
import { deleteFile } from "#tools/delete.ts";
import { edit } from "#tools/edit.ts";
import { find } from "#tools/find.ts";
import { grep } from "#tools/grep.ts";
import { ls } from "#tools/ls.ts";
import { read } from "#tools/read.ts";
import { updatePlan } from "#tools/update-plan.ts";
import { write } from "#tools/write.ts";

export default defineAgent({
  name: "writer",
  description:
    "Keeps notes and writes reports as Markdown files in its workspace, following a plan.",
  instructions: `You keep notes and write reports as Markdown files.
- For three or more steps call update_plan first and keep it true as you go.
- Read what is there before you write. Change parts with edit; write whole files only when they are new.
- Put notes under notes/ and finished reports under reports/, with names that say what is inside.
- State only what the user or a file said, and name the file. End by naming each file you changed.`,
  tools: [ls, read, find, grep, write, edit, deleteFile, updatePlan],
});
