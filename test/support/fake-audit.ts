/** Record, erasure and correction of a thread in memory: the scopes they ask for, and views that say little. */
import type { AuditStub } from "#ports/audit-stub.ts";
import type { ExplanationView, VerificationView } from "#ports/audit-views.ts";
import type { LogHead, RawEvent } from "#ports/event-log.ts";
import type { Caller, Failure, Page, ThreadStub } from "#ports/thread-gateway.ts";
import { canonicalJson } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";

type Correcting = "eraseContent" | "erasure" | "correctUsage" | "checkSpend" | "erasePayload";

interface RecordedThread {
  readonly seq: number;
  readonly runs: readonly string[];
  readonly erased: number[];
}

export const failure = (
  code: Failure["code"],
  message: string = code,
): { ok: false; error: Failure } =>
  err({
    code,
    message: `internal words about ${message}`,
    detail: { hint: message },
    retryable: false,
  });

const missing = () => failure("not_found", "thread");

const PER_PAGE = 2;

const GENESIS = { seq: 0, hash: "0".repeat(64) };

function headOf(thread: RecordedThread): LogHead {
  return { seq: thread.seq, hash: "f".repeat(64) };
}

/** Two events a part. */
function verification(thread: RecordedThread, after: number): VerificationView {
  const to = Math.min(after + PER_PAGE, thread.seq);
  const anchors = { verified: 1, inOneStore: 0, newest: null, signing: true };
  const checked = { from: after + 1, to, events: to - after, erased: 0, fault: null, anchors };
  const next = to < thread.seq ? to : null;
  return { logId: "log_1", ok: true, base: GENESIS, head: headOf(thread), ...checked, next };
}

function explanation(runId: string): ExplanationView {
  const none = { inputs: [], pin: null, steps: [], end: null, later: [], erased: 0, next: null };
  return { logId: "log_1", runId, ...none };
}

function exportPage(thread: RecordedThread, after: number): Page<RawEvent> {
  const last = Math.min(after + PER_PAGE, thread.seq);
  const items = Array.from({ length: last - after }, (_, index) => ({
    seq: after + index + 1,
    header: canonicalJson({ logId: "log_1", seq: after + index + 1 }),
    hash: "a".repeat(64),
    salt: null,
    payload: null,
  }));
  return { items, next: last < thread.seq ? last : null };
}

function erasureView(runId: string | null) {
  return {
    erasureId: "evt_erasure",
    target: runId === null ? ("thread" as const) : ("run" as const),
    runId,
    origin: null,
    status: "done" as const,
    requestedAt: 1,
    completedAt: 2,
    stores: [{ store: "log_payloads", count: 1 }],
  };
}

/** `find` asks the thread first, as every method does. */
export function fakeAudit(
  find: (method: string, caller: Caller) => RecordedThread | null,
): AuditStub & Pick<ThreadStub, Correcting> {
  return {
    export: async (caller, page) => {
      const thread = find("export", caller);
      if (thread === null) return missing();
      if (!caller.scopes.includes("audit")) return failure("forbidden");
      return ok(exportPage(thread, page.after));
    },
    auditBounds: async (caller) => {
      const thread = find("auditBounds", caller);
      if (thread === null) return missing();
      if (!caller.scopes.includes("audit")) return failure("forbidden");
      return ok({ logId: "log_1", base: GENESIS, head: headOf(thread) });
    },
    verifyLog: async (caller, after) => {
      const thread = find("verifyLog", caller);
      return thread === null ? missing() : ok(verification(thread, after));
    },
    explainRun: async (caller, { runId }) => {
      const thread = find("explainRun", caller);
      if (thread === null) return missing();
      return thread.runs.includes(runId) ? ok(explanation(runId)) : failure("not_found", "run");
    },
    eraseContent: async (caller, { runId }) => {
      const thread = find("eraseContent", caller);
      return thread === null ? missing() : ok(erasureView(runId));
    },
    erasure: async (caller, runId) => {
      const thread = find("erasure", caller);
      return thread === null ? missing() : ok(erasureView(runId));
    },
    correctUsage: async (caller, { intent }) => {
      if (find("correctUsage", caller) === null) return missing();
      if (!caller.scopes.includes("operate")) return failure("forbidden");
      if (intent !== "evt_1") return missing();
      return ok({ seq: 9, runId: "run_1", messageId: null, disposition: "recorded" });
    },
    checkSpend: async (caller, replace) => {
      if (find("checkSpend", caller) === null) return missing();
      if (!caller.scopes.includes("operate")) return failure("forbidden");
      return ok({ countedTo: 9, micros: 12, rows: 1, differing: 0, replaced: replace });
    },
    erasePayload: async (caller, seq) => {
      const thread = find("erasePayload", caller);
      if (thread === null) return missing();
      if (!caller.scopes.includes("erase")) return failure("forbidden");
      thread.erased.push(seq);
      return ok({ erased: 1 });
    },
  };
}
