/**
 * A task is a run and a context is a thread: the task's id holds both, so nothing has to be looked up and no id is kept
 * beside the log. It grants nothing: the thread's owner is checked below (Z4).
 */
import type { AgentName, RunId, ThreadId } from "#shared/ids.ts";
import { isRunId, isThreadId } from "#shared/ids.ts";

export interface TaskPlace {
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly run: RunId;
}

export function toTaskId({
  thread,
  run,
}: {
  readonly thread: string;
  readonly run: string;
}): string {
  return `${thread}.${run}`;
}

/** Null for what no task can be called. */
export function parseTaskId(agent: AgentName, id: string): TaskPlace | null {
  const [thread = "", run = "", ...rest] = id.split(".");
  if (rest.length > 0 || !isThreadId(thread) || !isRunId(run)) return null;
  return { agent, thread, run };
}
