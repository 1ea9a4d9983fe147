/** What can be asked of a thread's record; part of ThreadStub, and under its rules. */
import type { LogBounds } from "./audit-export.ts";
import type { ExplanationView, VerificationView } from "./audit-views.ts";
import type { RawEvent } from "./event-log.ts";
import type { Caller, Page, PageRequest, Reply } from "./thread-gateway.ts";

export interface AuditStub {
  /** Stored rows for verification; callers with scope `audit`. */
  export(caller: Caller, page: PageRequest): Promise<Reply<Page<RawEvent>>>;
  /** What an export of this log holds now; callers with scope `audit`. */
  auditBounds(caller: Caller): Promise<Reply<LogBounds>>;
  /** Chain and signed heads of a bounded part behind `after`. The owner, or scope `audit`. */
  verifyLog(caller: Caller, after: number): Promise<Reply<VerificationView>>;
  /** Steps of a run behind seq `after`. The owner, or scope `audit`. */
  explainRun(
    caller: Caller,
    request: PageRequest & { readonly runId: string },
  ): Promise<Reply<ExplanationView>>;
}
