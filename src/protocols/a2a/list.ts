/**
 * ListTasks: the caller's tasks of this agent, newest change first, by cursor (P97).
 *
 * Tasks of one context are read from its thread. Over all contexts they come from the index of runs, which each thread's
 * outbox keeps: it may lag by a second, and never shows what the caller may not see.
 */
import { toCaller } from "#auth/principal.ts";
import type { RunRecord } from "#ports/run-index.ts";
import type { RunView } from "#ports/thread-gateway.ts";
import { fromBase64Url, toBase64Url } from "#shared/base64.ts";
import { isThreadId, type ThreadId } from "#shared/ids.ts";
import { fromUtf8, utf8 } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { invalidField, toA2aError, type A2aError } from "./errors.ts";
import { toTaskId } from "./ids.ts";
import { requireScopes, type A2aCall } from "./call.ts";
import { getTask } from "./serve.ts";
import type { ListRequest, Task, TaskState } from "./wire.ts";

export interface TaskList {
  readonly tasks: readonly Task[];
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}
/** A task's place in the order. */
interface Position {
  readonly at: number;
  readonly run: string;
}
type Listed = Pick<RunRecord, "thread" | "run" | "status" | "at">;

const PAGE = 200;
/** Runs of one thread that are looked through. */
const MAX_RUNS = 5_000;

const STATES: { readonly [status in RunView["status"]]: TaskState } = {
  queued: "TASK_STATE_SUBMITTED",
  running: "TASK_STATE_WORKING",
  waiting: "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  cancelled: "TASK_STATE_CANCELED",
};

export async function listTasks(
  call: A2aCall,
  request: ListRequest,
): Promise<Result<TaskList, A2aError>> {
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return allowed;
  const after = parseToken(request.pageToken);
  if (after === undefined) return err(invalidField("pageToken", "is no token of this list"));
  const since = request.statusTimestampAfter;
  const query = {
    statuses: statusesOf(request.status),
    since: since === undefined ? null : Date.parse(since),
    after,
    limit: request.pageSize,
  };
  const { contextId } = request;
  const found =
    contextId === undefined
      ? await fromIndex(call, query)
      : await fromThread(call, contextId, query);
  if (!found.ok) return found;
  return toList(call, request, found.value);
}

interface Query {
  /** Null: any. */
  readonly statuses: readonly RunView["status"][] | null;
  readonly since: number | null;
  readonly after: Position | null;
  readonly limit: number;
}
interface FoundRuns {
  readonly items: readonly Listed[];
  readonly hasMore: boolean;
  readonly total: number;
}

async function toList(
  call: A2aCall,
  { historyLength = 0, includeArtifacts, pageSize }: ListRequest,
  { items, hasMore, total }: FoundRuns,
): Promise<Result<TaskList, A2aError>> {
  const tasks: Task[] = [];
  for (const item of items) {
    const bare = toBareTask(item);
    if (!includeArtifacts && historyLength === 0) {
      tasks.push(bare);
      continue;
    }
    const read = await getTask(call, { id: bare.id, historyLength });
    // What the index names and is gone, or cannot be read now, is told as it is known.
    const { artifacts = [], ...task } = read.ok ? read.value : bare;
    tasks.push(includeArtifacts ? { ...task, artifacts } : task);
  }
  const last = items.at(-1);
  const nextPageToken = hasMore && last !== undefined ? toToken(last) : "";
  return ok({ tasks, nextPageToken, pageSize, totalSize: total });
}

function toBareTask({ thread, run, status, at }: Listed): Task {
  return {
    id: toTaskId({ thread, run }),
    contextId: thread,
    status: { state: STATES[status], timestamp: new Date(at).toISOString() },
  };
}

async function fromIndex(
  { deps, principal, agent }: A2aCall,
  query: Query,
): Promise<Result<FoundRuns, A2aError>> {
  const { tenant } = principal;
  const visible =
    principal.kind === "user"
      ? ({ to: "owner", owner: principal.id } as const)
      : ({ to: "tenant" } as const);
  const { statuses, since } = query;
  const filter = { tenant, visible, agent, statuses, since };
  const [items, total] = await Promise.all([
    deps.runIndex.list({ ...filter, after: query.after, limit: query.limit + 1 }),
    deps.runIndex.count(filter),
  ]);
  return ok({ items: items.slice(0, query.limit), hasMore: items.length > query.limit, total });
}

/** A context that does not exist has no tasks, and neither has one that is not the caller's. */
async function fromThread(
  call: A2aCall,
  contextId: string,
  { statuses, since, after, limit }: Query,
): Promise<Result<FoundRuns, A2aError>> {
  const { deps, principal, agent } = call;
  if (!isThreadId(contextId)) return ok({ items: [], hasMore: false, total: 0 });
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, { agent, thread: contextId });
  const runs: RunView[] = [];
  for (let next: number | null = 0; next !== null && runs.length < MAX_RUNS;) {
    const page: Awaited<ReturnType<typeof stub.runs>> = await stub.runs(caller, {
      after: next,
      limit: PAGE,
    });
    if (!page.ok && page.error.code === "not_found") break;
    if (!page.ok) return err(toA2aError(page.error));
    runs.push(...page.value.items);
    next = page.value.next;
  }
  const listed = await Promise.all(runs.map((view) => toListed(call, contextId, view)));
  const matching = listed
    .filter(({ status, at }) => (statuses?.includes(status) ?? true) && at > (since ?? -1))
    .sort((one, other) => other.at - one.at || (other.run < one.run ? -1 : 1));
  const behind = matching.filter((item) => after === null || isBehind(item, after));
  return ok({
    items: behind.slice(0, limit),
    hasMore: behind.length > limit,
    total: matching.length,
  });
}

/** Of the one run that is live, its log says since when it stands as it does. */
async function toListed(
  call: A2aCall,
  thread: ThreadId,
  { runId: run, status, createdAt, endedAt }: RunView,
): Promise<Listed> {
  const at = endedAt ?? createdAt;
  if (status !== "running" && status !== "waiting") return { thread, run, status, at };
  const task = await getTask(call, { id: toTaskId({ thread, run }), historyLength: 0 });
  return { thread, run, status, at: task.ok ? Date.parse(task.value.status.timestamp) : at };
}

function isBehind({ at, run }: Position, after: Position): boolean {
  return at < after.at || (at === after.at && run < after.run);
}

function statusesOf(state: ListRequest["status"]): readonly RunView["status"][] | null {
  if (state === undefined) return null;
  const all: readonly RunView["status"][] = [
    "queued",
    "running",
    "waiting",
    "completed",
    "failed",
    "cancelled",
  ];
  return all.filter((status) => STATES[status] === state);
}

function toToken({ at, run }: Position): string {
  return toBase64Url(utf8(`${at}.${run}`));
}

/** Null for the first page, undefined for what is no token. */
function parseToken(token: string): Position | null | undefined {
  if (token === "") return null;
  const bytes = fromBase64Url(token);
  if (bytes === null) return undefined;
  try {
    const [, at, run] = /^(\d{1,15})\.([A-Za-z0-9_-]{1,64})$/.exec(fromUtf8(bytes)) ?? [];
    return at === undefined || run === undefined ? undefined : { at: Number(at), run };
  } catch {
    return undefined;
  }
}
