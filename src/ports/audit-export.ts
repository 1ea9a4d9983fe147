/** AuditExport: logs as one file with everything their verification needs. The format belongs to the audit. */
import type { LogHead, RawEvent } from "./event-log.ts";
import type { Page } from "./thread-gateway.ts";

/** Whose logs: one thread's, or all of a tenant. */
export interface ExportScope {
  readonly tenant: string;
  readonly agent: string | null;
  readonly thread: string | null;
}
/** What a log holds now; `base` is the event before its first one, seq 0 unless it was pruned. */
export interface LogBounds {
  readonly logId: string;
  readonly base: LogHead;
  readonly head: LogHead;
}
/** One log to export. What it throws ends the export: a file that lacks something must not look whole. */
export interface ExportedLog {
  readonly agent: string | null;
  readonly thread: string | null;
  bounds(): Promise<LogBounds>;
  page(after: number): Promise<Page<RawEvent>>;
}
export interface AuditExport {
  /** Lines with their line feeds, made as they are taken. */
  lines(scope: ExportScope, logs: AsyncIterable<ExportedLog>): AsyncIterable<string>;
}
