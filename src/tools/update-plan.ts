import { z } from "zod";
import { defineTool } from "#authoring/define-tool.ts";

/** The plan commits with the outcome and is shown in the next prompt (K19). */
export const updatePlan = defineTool({
  name: "update_plan",
  description:
    "Replaces your plan. Use it for work of three or more steps: keep exactly one item active, mark what is done. The plan survives restarts.",
  version: "1",
  effect: "idempotent",
  input: z.object({
    items: z
      .array(
        z.object({
          text: z.string().min(1).max(300),
          status: z.enum(["pending", "active", "done", "dropped"]).default("pending"),
        }),
      )
      .max(30),
  }),
  execute: ({ items }, { setPlan }) => {
    setPlan(items);
    const open = items.filter(
      (item) => item.status === "pending" || item.status === "active",
    ).length;
    return { items: items.length, open };
  },
});
