/** What the page calls by names of its own; the documents are those of the client. */
import type { Explanation, Principal, SpendGroup as Group } from "#client/types.ts";

export type ExplainedStep = Explanation["steps"][number];
export type Me = Principal;
/** What the page sums spend by. */
export type SpendGroup = Extract<Group, "day" | "agent" | "model" | "tool" | "user">;

export interface Place {
  readonly agent: string;
  readonly thread: string;
}
