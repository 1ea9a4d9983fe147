/** Who is told of a run: put, listed and dropped by whoever may see the thread. */
import type { ThreadEvents } from "#kernel/events.ts";
import { RUN_CHANGES } from "#kernel/run-events.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { PushConfigView, PutPushConfig } from "#ports/push.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import { NOT_FOUND } from "#durable-objects/agent/access.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { err, ok } from "#shared/result.ts";
import { PushShelf, toPushView, type StoredPush } from "./push-shelf.ts";

export function putPushConfig(host: ThreadHost, config: PutPushConfig): Reply<PushConfigView> {
  const { runId, target, origin, from } = config;
  const run = host.runs.get(runId);
  if (run === null) return err(NOT_FOUND);
  if (!host.runtime.mode.writable)
    return err({
      code: "log_read_only",
      message: "the thread can be read but not changed",
      detail: {},
      retryable: false,
    });
  const stored: StoredPush = {
    runId,
    configId: config.configId ?? host.storage.ids.next("psh"),
    target,
    origin,
    seq: from === "start" ? run.startSeq - 1 : host.log.head().seq,
    state: null,
    failed: 0,
    notBefore: 0,
    over: false,
  };
  if (new PushShelf(host.storage.database).put(stored)) return ok(toPushView(stored));
  return err({
    code: "conflict",
    message: "a task has at most 10 push notification configs; delete one first",
    detail: {},
    retryable: false,
  });
}

export function listPushConfigs(host: ThreadHost, runId: string): Reply<readonly PushConfigView[]> {
  if (host.runs.get(runId) === null) return err(NOT_FOUND);
  return ok(new PushShelf(host.storage.database).ofRun(runId).map(toPushView));
}

export function dropPushConfig(
  host: ThreadHost,
  { runId, configId }: { readonly runId: string; readonly configId: string },
): Reply<null> {
  const isThere = new PushShelf(host.storage.database).drop(runId, configId);
  return isThere ? ok(null) : err(NOT_FOUND);
}

/** Wakes the notifications. Required: what a receiver has not been woken for is not pruned. */
export function pushConsumer(
  host: ThreadHost,
  notify: () => Promise<void>,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "push",
    required: true,
    types: RUN_CHANGES,
    async deliver(events) {
      const runs = new Set(events.map(({ header }) => header.run));
      const live = new PushShelf(host.storage.database).live();
      if (live.some(({ runId }) => runs.has(runId))) await notify();
    },
  };
}
