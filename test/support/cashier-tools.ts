/**
 * Tools that move money after a person has said yes, over a desk outside that keeps what it did with its arguments:
 * `wire` can be asked whether it happened, `wire_once` cannot.
 */
import { z } from "zod";
import { defineTool } from "#authoring/define-tool.ts";
import type { Tool } from "#ports/tool.ts";
import { askDesk } from "./desk.ts";

const ABOUT = {
  description: "Wires money.",
  version: "1",
  approval: "always",
  input: z.object({
    run: z.string(),
    to: z.string(),
    amount: z.number(),
    /** Filled in by the schema: what is shown is more than what the model wrote. */
    currency: z.string().default("EUR"),
  }),
} as const;

export function cashierTools(url: string): readonly Tool[] {
  return [
    defineTool({
      ...ABOUT,
      name: "wire",
      effect: "reconcile",
      execute: (args, { idempotencyKey: key }) => askDesk(url, { name: "wire", key, args }),
      async check(key, args) {
        const result = await askDesk(url, { name: "check", key, args });
        return result === null ? { happened: false } : { happened: true, result };
      },
    }),
    defineTool({
      ...ABOUT,
      name: "wire_once",
      effect: "once",
      execute: (args, { idempotencyKey: key }) => askDesk(url, { name: "wire_once", key, args }),
    }),
  ];
}
