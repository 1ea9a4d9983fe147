/**
 * The closed set of thread events and how older stored versions become current ones.
 *
 * PERSISTED CONTRACT. A changed payload shape raises its version here and adds a step to `UPCASTS`, which brings a
 * payload from the version of its key to the next one; steps are chained, so each is written once and never edited.
 */
import type { Json } from "#shared/json.ts";
import { invariant } from "#shared/exhaustive.ts";
import type { Catalogue } from "#ports/event-log.ts";
import type { ThreadEvents, ThreadEventType } from "./events.ts";

export type Upcasts<M> = {
  readonly [T in keyof M & string]?: { readonly [fromVersion: number]: (payload: Json) => Json };
};

/** A catalogue whose `upcast` chains the steps. Throws at creation when a step is missing. */
export function createCatalogue<M>(
  name: string,
  versions: Catalogue<M>["versions"],
  upcasts: Upcasts<M>,
): Catalogue<M> {
  for (const type of Object.keys(versions) as (keyof M & string)[]) {
    for (let from = 1; from < versions[type]; from += 1) {
      invariant(upcasts[type]?.[from] !== undefined, `${type} has no upcast from version ${from}`);
    }
  }
  return {
    name,
    versions,
    upcast(type, version, payload) {
      let current = payload;
      for (let from = version; from < versions[type]; from += 1) {
        const step = upcasts[type]?.[from];
        invariant(step !== undefined, `${type} has no upcast from version ${from}`);
        current = step(current);
      }
      return current;
    },
  };
}

const VERSIONS: { readonly [T in ThreadEventType]: number } = {
  "thread.created": 1,
  "thread.halted": 1,
  "thread.resumed": 1,
  "state.set": 1,
  "definition.pinned": 1,
  "input.received": 1,
  "run.started": 1,
  "model.requested": 1,
  "model.answered": 1,
  "model.failed": 1,
  "model.interrupted": 1,
  "usage.corrected": 1,
  "tool.started": 1,
  "tool.finished": 1,
  "tool.refused": 1,
  "tool.interrupted": 1,
  "tool.late": 1,
  "tool.reported": 1,
  "approval.requested": 1,
  "approval.decided": 1,
  "approval.refused": 1,
  "file.written": 1,
  "file.deleted": 1,
  "plan.updated": 1,
  "context.added": 1,
  "branch.started": 1,
  "branch.selected": 1,
  "erasure.requested": 1,
  "erasure.completed": 1,
  "lease.granted": 1,
  "lease.closed": 1,
  "lease.declined": 1,
  "route.changed": 1,
  "schedule.set": 1,
  "schedule.declared": 1,
  "schedule.paused": 1,
  "schedule.fired": 1,
  "schedule.deleted": 1,
  "run.cancel_requested": 1,
  "run.completed": 1,
  "run.failed": 1,
  "run.cancelled": 1,
};

export const THREAD_CATALOGUE: Catalogue<ThreadEvents> = createCatalogue<ThreadEvents>(
  "thread",
  VERSIONS,
  {},
);
