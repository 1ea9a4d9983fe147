/** What a tool call came to, as `tool.finished` and `tool.late` hold it. PERSISTED CONTRACT (events.ts). */
import type { ContentPart } from "#ports/content.ts";

export type ToolStatus = "ok" | "error" | "unknown" | "cancelled";

export interface ToolResult {
  readonly status: ToolStatus;
  /** Stable machine code of a status other than ok. */
  readonly code: string | null;
  /** What the model is shown: never empty, bounded by the tool's `maxResultBytes`. */
  readonly output: string;
  /** Size of the whole output in bytes, and where the rest can be read when `output` is a preview of it. */
  readonly bytes: number;
  readonly handle: string | null;
  /** Of the whole output, where `output` is only a preview of it (B2). */
  readonly digest?: string;
  /** What was given as content rather than as text, for who can show it. Absent: text only. */
  readonly parts?: readonly ContentPart[];
}
