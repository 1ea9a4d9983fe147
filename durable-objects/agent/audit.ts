/**
 * The audit of one thread: who may ask, its bounds for an export, its verification, and why a run did what it did.
 *
 * The owner audits its own thread; anybody else of the tenant needs the scope `audit` (H11, H20).
 */
import type { AnchorIndex, AnchorStore } from "#ports/anchors.ts";
import type { LogBounds } from "#ports/audit-export.ts";
import type { ExplanationView, VerificationView } from "#ports/audit-views.ts";
import type { Clock } from "#ports/clock.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { PublicKey, SignatureCheck, Signer } from "#ports/signing.ts";
import type { Caller, Failure, PageRequest, Reply } from "#ports/thread-gateway.ts";
import { anchorsConsumer } from "#audit/anchoring.ts";
import { explainRun } from "#audit/explain.ts";
import { verifyThread } from "#audit/verify-thread.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { RUN_ENDS } from "#kernel/run-events.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import { checkScope } from "./access.ts";
import { replyWith } from "./refusals.ts";
import { requireHistory } from "./thread-reader.ts";
import type { ThreadHost } from "./thread-host.ts";

/** Who signs heads, where they lie, and by which keys they are checked. */
export interface AuditParts {
  /** Null where the deployment has no key. */
  readonly signer: Signer | null;
  readonly keys: readonly PublicKey[];
  readonly check: SignatureCheck;
  readonly anchors: AnchorStore & AnchorIndex;
  readonly copies: Pick<AnchorStore, "put" | "list">;
}

/** A page of steps crosses RPC whole, each with its prompt. */
const MAX_STEPS = 20;

/** None where nobody signs; pruning then waits, because a log may begin at a signed head only. */
export function threadAnchors(
  log: { readonly logId: string; readonly address: ThreadAddress },
  { signer, anchors, copies }: AuditParts,
  host: { readonly clock: Clock; readonly conflict: (message: string) => void },
): readonly OutboxConsumer<ThreadEvents>[] {
  if (signer === null) return [];
  const { clock, conflict } = host;
  return [
    anchorsConsumer<ThreadEvents>(
      { ...log.address, logId: log.logId, after: RUN_ENDS },
      {
        signer,
        anchors,
        copies,
        clock,
        conflict: ({ seq }) => conflict(`event ${seq} was signed with another hash before`),
      },
    ),
  ];
}

export function mayAudit(host: ThreadHost, caller: Caller): Reply<null> {
  return caller.id === host.runtime.state.owner ? ok(null) : checkScope(caller, "audit");
}

export function bounds(host: ThreadHost): LogBounds {
  const { log } = host;
  return { logId: log.logId, base: log.base(), head: log.head() };
}

export async function verify(
  host: ThreadHost,
  caller: Caller,
  after: number,
): Promise<Reply<VerificationView>> {
  const allowed = host.guard(caller, () => mayAudit(host, caller));
  if (!allowed.ok) return allowed;
  const { log, address, audit, storage } = host;
  const { base, head } = bounds(host);
  if (after > head.seq) return err(beyond(head.seq));
  try {
    const { signer, ...parts } = audit;
    const checked = { ...parts, hasher: storage.hasher, signing: signer !== null };
    return ok(await verifyThread({ log, base, owner: address }, checked, after));
  } catch (error) {
    return replyWith(error);
  }
}

export function explain(
  host: ThreadHost,
  caller: Caller,
  request: PageRequest & { readonly runId: string },
): Reply<ExplanationView> {
  const allowed = mayAudit(host, caller);
  if (!allowed.ok) return allowed;
  const run = host.runs.get(request.runId);
  if (run === null) return err({ ...beyond(0), code: "not_found", message: "no such run" });
  const { startSeq, endSeq } = run;
  const kept = requireHistory(host, startSeq - 1);
  if (!kept.ok) return kept;
  const limit = Math.min(request.limit, MAX_STEPS);
  const pins = host.log.baseState(THREAD_FOLD)?.pins ?? [];
  const asked = { ...request, startSeq, endSeq, limit, pins };
  return ok(explainRun(host.log, host.storage.hasher, asked));
}

function beyond(head: number): Failure {
  return {
    code: "invalid_request",
    message: `\`after\` must be the \`next\` of an earlier part; the thread has ${head} events`,
    detail: {},
    retryable: false,
  };
}
