/**
 * Snapshot: the newest messages of a thread for a chat that has just connected, bounded in number, bytes and work.
 *
 * The answer that is being written is left out: a stream brings it, from its beginning, so that nothing shows twice.
 */
import { isWaitingForHumans, type RunState } from "#kernel/state.ts";
import type { ChatSnapshot, MessageView } from "#ports/thread-gateway.ts";
import type { OpenApproval } from "#ports/socket-protocol.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import * as reads from "#durable-objects/agent/thread-reader.ts";

const MAX_VIEWS = 400;
const MAX_BYTES = 512 * 1024;
/** How far back is looked. Older messages are read page by page over REST. */
const MAX_EVENTS = 4_000;
const PAGE = 200;

export function takeSnapshot(host: ThreadHost): ChatSnapshot {
  const { run } = host.runtime.state;
  const live = run !== null && !isWaitingForHumans(run) ? run.runId : null;
  const views: MessageView[] = [];
  const head = host.log.head().seq;
  for (let after: number | null = Math.max(0, head - MAX_EVENTS); after !== null;) {
    const page = reads.listMessages(host, { after, limit: PAGE });
    // The active branch is always there.
    if (!page.ok) break;
    views.push(...page.value.items.filter(({ role, runId }) => role === "user" || runId !== live));
    after = page.value.next;
  }
  return { views: newest(views), open: openApprovals(run) };
}

/** Begins with a user message, so that no answer is shown without what it answers. */
function newest(views: readonly MessageView[]): readonly MessageView[] {
  let bytes = 0;
  let first = views.length;
  for (let index = views.length - 1; index >= Math.max(0, views.length - MAX_VIEWS); index -= 1) {
    bytes += JSON.stringify(views[index]).length;
    if (bytes > MAX_BYTES) break;
    if (index === 0 || views[index]?.role === "user") first = index;
  }
  return views.slice(first);
}

export function openApprovals(run: RunState | null): readonly OpenApproval[] {
  if (run?.phase.type !== "tools") return [];
  return run.phase.calls.flatMap(({ callId, approval, status }) =>
    status === "waiting" && approval !== null
      ? [{ callId, approvalId: approval.approvalId, kind: approval.kind }]
      : [],
  );
}
