/** Erasure commands: asking for the erasure of a thread or of a run, and what became of it (H30, H31, H33). */
import { isErasable } from "#kernel/erasure.ts";
import type { ErasureRow } from "#adapters/projections/erasures-projection.ts";
import type { Caller, EraseContent, ErasureView, Reply } from "#ports/thread-gateway.ts";
import { err, ok } from "#shared/result.ts";
import { checkScope } from "#durable-objects/agent/access.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { cancel } from "#durable-objects/agent/thread-commands.ts";
import { readProgress } from "./erasure-progress.ts";

/** How far it is looked whether something was added since an erasure; beyond it, there was. */
const MAX_LOOKED_AT = 500;
const REASON = "its content is to be erased";

export function requestErasure(
  host: ThreadHost,
  caller: Caller,
  request: EraseContent,
): Reply<ErasureView> {
  const allowed = checkScope(caller, "erase");
  if (!allowed.ok) return allowed;
  const { runId, live, origin } = request;
  if (runId !== null && host.runs.get(runId) === null) return err(NO_RUN);
  const newest = host.erasures.newest(runId);
  if (newest !== null && isStillTrue(host, newest, runId)) return ok(toView(host, newest));
  if (live === "cancel") {
    const cancelled = cancelLive(host, caller, runId);
    if (!cancelled.ok) return cancelled;
  }
  const submitted = host.submit(
    caller,
    { type: "request_erasure", runId, origin },
    { idempotencyKey: null, body: { runId } },
  );
  return submitted.ok ? viewErasure(host, caller, runId) : submitted;
}

export function viewErasure(
  host: ThreadHost,
  caller: Caller,
  runId: string | null,
): Reply<ErasureView> {
  const allowed = checkScope(caller, "erase");
  if (!allowed.ok) return allowed;
  const row = host.erasures.newest(runId);
  return row === null ? err(NO_ERASURE) : ok(toView(host, row));
}

/** Done or under way, and nothing with content came after it. */
function isStillTrue(host: ThreadHost, row: ErasureRow, runId: string | null): boolean {
  if (row.completedSeq === null) return row.runId === runId;
  const from = row.completedSeq + 1;
  if (host.log.head().seq - from >= MAX_LOOKED_AT) return false;
  return !host.log
    .read({ from, limit: MAX_LOOKED_AT })
    .some(
      ({ type, header, payload }) =>
        isErasable(type) && payload !== null && (runId === null || header.run === runId),
    );
}

function cancelLive(host: ThreadHost, caller: Caller, runId: string | null): Reply<null> {
  const { run, queue } = host.runtime.state;
  for (const { runId: live } of [...queue, ...(run === null ? [] : [run])]) {
    if (runId !== null && live !== runId) continue;
    const cancelled = cancel(host, caller, { runId: live, reason: REASON });
    if (!cancelled.ok) return cancelled;
  }
  return ok(null);
}

function toView(host: ThreadHost, row: ErasureRow): ErasureView {
  const { erasureId, runId, origin, requestedAt, completedAt, completedSeq, stores } = row;
  return {
    erasureId,
    target: runId === null ? "thread" : "run",
    runId,
    origin,
    status: completedSeq === null ? "erasing" : "done",
    requestedAt,
    completedAt,
    stores: completedSeq === null ? readProgress(host, erasureId).stores : stores,
  };
}

const NO_RUN = { code: "not_found", message: "no such run", detail: {}, retryable: false } as const;
const NO_ERASURE = {
  code: "not_found",
  message: "no erasure was asked for",
  detail: {},
  retryable: false,
} as const;
