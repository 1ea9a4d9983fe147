/**
 * Events of a scope's log and the state they fold into. PERSISTED CONTRACT, like the events of a thread.
 *
 * Today a scope holds one thing: the erasures of its subject, which outlive every process that works on them (H35).
 */
import type { ErasedStore } from "#kernel/events.ts";
import type { ThreadPosition } from "#ports/directory.ts";
import type { Catalogue, Fold, StoredEvent } from "#ports/event-log.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import type { Json } from "#shared/json.ts";

export interface ScopeEvents {
  readonly "erasure.requested": {
    readonly live: "refuse" | "cancel";
    /** On whose word; the threads check it again. */
    readonly caller: { readonly kind: Caller["kind"]; readonly id: string };
  };
  /** One thread was asked. Header: its agent and thread. */
  readonly "erasure.thread_asked": {
    readonly createdAt: number;
    readonly outcome: "done" | "waiting";
    /** False where there was nothing left to erase. */
    readonly fresh: boolean;
    readonly stores: readonly ErasedStore[];
  };
  readonly "erasure.completed": {
    readonly threads: number;
    readonly stores: readonly ErasedStore[];
  };
}
export type ScopeEvent = StoredEvent<ScopeEvents>;

export const SCOPE_CATALOGUE: Catalogue<ScopeEvents> = {
  name: "scope",
  versions: { "erasure.requested": 1, "erasure.thread_asked": 1, "erasure.completed": 1 },
  upcast: (_type, _version, payload) => payload,
};

export interface OpenSubjectErasure {
  readonly id: string;
  readonly requestedAt: number;
  readonly live: "refuse" | "cancel";
  readonly caller: ScopeEvents["erasure.requested"]["caller"];
  /** The last thread that was asked, in the directory's order. */
  readonly after: ThreadPosition | null;
  readonly waiting: readonly ThreadPosition[];
  readonly done: number;
  readonly fresh: boolean;
  readonly stores: readonly ErasedStore[];
}
export interface SubjectReceipt {
  readonly id: string;
  readonly requestedAt: number;
  readonly completedAt: number;
  readonly threads: number;
  readonly stores: readonly ErasedStore[];
}
export interface ScopeState {
  readonly erasure: OpenSubjectErasure | null;
  /** Of the newest erasure that found something. */
  readonly receipt: SubjectReceipt | null;
}

export const SCOPE_FOLD: Fold<ScopeEvents, ScopeState> = {
  id: "scope",
  version: 1,
  initial: () => ({ erasure: null, receipt: null }),
  evolve,
  // Plain readonly data; interfaces lack the index signature that `Json` asks for.
  dump: (state) => state as unknown as Json,
  restore: (dumped) => dumped as unknown as ScopeState,
};

function evolve(state: ScopeState, event: ScopeEvent): ScopeState {
  const { erasure } = state;
  if (event.payload === null) return state;
  if (event.type === "erasure.requested") {
    const { id, at: requestedAt } = event.header;
    const begun = { after: null, waiting: [], done: 0, fresh: false, stores: [] };
    return { ...state, erasure: { id, requestedAt, ...event.payload, ...begun } };
  }
  if (erasure === null) return state;
  if (event.type === "erasure.thread_asked") return { ...state, erasure: ask(erasure, event) };
  const { id, requestedAt } = erasure;
  const receipt = { id, requestedAt, completedAt: event.header.at, ...event.payload };
  // Finding nothing again leaves the receipt of what was found (H33).
  return {
    erasure: null,
    receipt: erasure.fresh || state.receipt === null ? receipt : state.receipt,
  };
}

type Asked = Extract<ScopeEvent, { readonly type: "erasure.thread_asked" }>;

function ask(erasure: OpenSubjectErasure, { header, payload }: Asked): OpenSubjectErasure {
  if (payload === null) return erasure;
  // Written by `SubjectErasure` with the ids of a thread of the directory.
  const place = {
    createdAt: payload.createdAt,
    agent: header.agent,
    thread: header.thread,
  } as ThreadPosition;
  const isAt = (other: ThreadPosition): boolean =>
    other.agent === place.agent && other.thread === place.thread;
  const wasWaiting = erasure.waiting.some(isAt);
  const rest = erasure.waiting.filter((other) => !isAt(other));
  const isDone = payload.outcome === "done";
  return {
    ...erasure,
    after: wasWaiting ? erasure.after : place,
    waiting: isDone ? rest : [...rest, place],
    done: erasure.done + (isDone ? 1 : 0),
    fresh: erasure.fresh || payload.fresh,
    stores: isDone ? addStores(erasure.stores, payload.stores) : erasure.stores,
  };
}

function addStores(
  stores: readonly ErasedStore[],
  more: readonly ErasedStore[],
): readonly ErasedStore[] {
  const counts = new Map(stores.map(({ store, count }) => [store, count]));
  for (const { store, count } of more) counts.set(store, (counts.get(store) ?? 0) + count);
  return [...counts].map(([store, count]) => ({ store, count }));
}
