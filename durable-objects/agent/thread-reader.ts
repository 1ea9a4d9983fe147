/** ThreadReader: the answers to reads of one thread. Owns no state and has no effect (P4). */
import type {
  BranchView,
  EventView,
  MessagePageRequest,
  MessageView,
  Page,
  PageRequest,
  Reply,
  RunStatus,
  RunView,
  StreamCursor,
  ThreadView,
} from "#ports/thread-gateway.ts";
import { finishNotice } from "#kernel/finish-notice.ts";
import { loopNotice } from "#kernel/loop-words.ts";
import { isWaitingForHumans } from "#kernel/state.ts";
import type { RawEvent } from "#ports/event-log.ts";
import type { FileStat } from "#ports/workspace.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";
import type { Json } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import type { ThreadHost } from "./thread-host.ts";
import { toFailure } from "./refusals.ts";
import { pageRaw } from "./pages.ts";
import { pageEvents, pageMessages } from "./views.ts";

/** One answer of a file or export stays far below the 32 MiB that cross RPC. */
const MAX_READ_BYTES = 8 * 1024 * 1024;

/** In place of a branch's id: ids are minted with a prefix, so no branch has this name. */
const ALL_BRANCHES = "all";

export interface FileContent {
  readonly stat: FileStat;
  readonly content: Uint8Array;
}

export function viewThread(host: ThreadHost): ThreadView {
  const { state, mode } = host.runtime;
  return {
    agent: host.address.agent,
    thread: host.address.thread,
    title: state.title,
    owner: state.owner ?? "",
    head: host.log.head(),
    base: host.log.base(),
    activeRun: state.run?.runId ?? null,
    queued: state.queue.length,
    halted:
      state.halt === null
        ? null
        : { at: state.halt.at, by: state.halt.by, reason: state.halt.reason },
    plan: state.plan.map((item) => ({ ...item })) as Json,
    state: state.shared,
    writable: mode.writable,
    readOnlyReason: mode.writable ? null : mode.reason,
  };
}

export function readRun(host: ThreadHost, runId: string): Reply<RunView> {
  const run = host.runs.get(runId);
  if (run === null)
    return err({ code: "not_found", message: "no such run", detail: {}, retryable: false });
  return ok(withAnswer(host, run));
}

export function listRuns(host: ThreadHost, page: PageRequest): Page<RunView> {
  const runs = host.runs.list(page);
  return { items: runs.items.map((run) => withAnswer(host, run)), next: runs.next };
}

/** The projection holds numbers; text and output lie in the run's last event, once, where erasure reaches them. */
function withAnswer(host: ThreadHost, run: RunView): RunView {
  if (run.endSeq === null) return withWaiting(host, run);
  const ended = { ...run, message: run.message ?? finishNotice(run.finish) };
  const event = host.log.get(run.endSeq);
  if (event?.type === "run.failed" && event.payload?.budget !== undefined)
    return { ...ended, budget: event.payload.budget };
  if (event?.type !== "run.completed" || event.payload === null) return ended;
  const { text, output, loop = null } = event.payload;
  const message = loop === null ? ended.message : loopNotice(loop);
  return { ...ended, text, output, loop, message };
}

/** Null where there is no such run. */
export function statusOf(host: ThreadHost, runId: string): RunStatus | null {
  const run = host.runs.get(runId);
  return run === null ? null : withWaiting(host, run).status;
}

/** Only people move it: nothing of that is stored, because it follows from the step at hand. */
function withWaiting(host: ThreadHost, view: RunView): RunView {
  const { run, halt } = host.runtime.state;
  const isLive = run !== null && run.runId === view.runId;
  const isWaiting = isLive && (halt !== null || isWaitingForHumans(run));
  return isWaiting ? { ...view, status: "waiting" } : view;
}

export function listMessages(host: ThreadHost, page: MessagePageRequest): Reply<Page<MessageView>> {
  const { branches, log } = host;
  const { state } = host.runtime;
  const active = branches.membership(state, state.branch.id);
  const asked = page.branch ?? state.branch.id;
  if (asked === ALL_BRANCHES) {
    const shown = { segments: branches.segments(state), without: new Set<number>() };
    return ok(pageMessages({ log, shown, active }, page));
  }
  if (branches.get(state, asked) === null) return err(toFailure({ reason: "branch_unknown" }));
  const shown = branches.membership(state, asked);
  return ok(pageMessages({ log, shown, active }, page));
}

export function listBranches(host: ThreadHost): readonly BranchView[] {
  const { state } = host.runtime;
  const heads = new Map(
    host.branches.segments(state).map(({ branch, to }) => [branch, to] as const),
  );
  return host.branches.list(state).map(({ without: _without, ...branch }) => ({
    ...branch,
    active: branch.branch === state.branch.id,
    headSeq: heads.get(branch.branch) ?? branch.startSeq,
  }));
}

/** Whoever goes on behind `after` must not be handed a log that begins later without a word (H43). */
export function requireHistory({ log }: ThreadHost, after: number): Reply<null> {
  const base = log.base().seq;
  if (after >= base) return ok(null);
  return err({
    code: "history_pruned",
    message: `the events up to ${base} were pruned; begin after ${base}`,
    detail: { base },
    retryable: false,
  });
}

export function listEvents(host: ThreadHost, page: PageRequest): Reply<Page<EventView>> {
  const kept = requireHistory(host, page.after);
  return kept.ok ? ok(pageEvents(host.log, page)) : kept;
}

export function exportEvents(host: ThreadHost, page: PageRequest): Reply<Page<RawEvent>> {
  const kept = requireHistory(host, page.after);
  return kept.ok ? ok(pageRaw(host.log, page)) : kept;
}

/** A cursor from another log, or from a position this one never had, would skip events without a word (P2). */
export function checkCursor(host: ThreadHost, cursor: StreamCursor): Reply<null> {
  const head = host.log.head().seq;
  if (cursor.seq <= head) return requireHistory(host, cursor.seq);
  return err({
    code: "invalid_request",
    message: `the stream position is ahead of the thread, which has ${head} events; begin at 0 or at one you were given`,
    detail: { head },
    retryable: false,
  });
}

export function readFile(
  host: ThreadHost,
  path: string,
  range: { readonly offset: number; readonly limit: number },
): Reply<FileContent> {
  const stat = host.workspace.reader.stat(requireWorkspacePath(path));
  const limit = Math.min(range.limit, MAX_READ_BYTES);
  const content =
    stat === null ? null : host.workspace.reader.read(path, { offset: range.offset, limit });
  if (stat === null || content === null)
    return err({ code: "not_found", message: "no such file", detail: {}, retryable: false });
  return ok({ stat, content });
}
