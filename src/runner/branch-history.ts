/**
 * BranchHistory: which part of a log belongs to which branch (K42 to K44).
 *
 * Each branch event names the one before it, so the newest leads to all. What was read once is kept: those events are
 * never erased, and a log only grows. A branch holds its own segments, and of its parent what lies before it began.
 */
import { MAIN_BRANCH } from "#kernel/branch.ts";
import type { BranchReason, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { EventLog } from "#ports/event-log.ts";

export interface Branch {
  readonly branch: string;
  readonly parent: string | null;
  readonly reason: BranchReason | null;
  readonly keepTo: number;
  readonly without: readonly number[];
  readonly startSeq: number;
  readonly createdAt: number;
}
/** Seqs `from` to `to`, both inclusive, written while `branch` was active. */
export interface Segment {
  readonly branch: string;
  readonly from: number;
  readonly to: number;
}
/** What of a log a branch holds, in order. */
export interface Membership {
  readonly segments: readonly Segment[];
  readonly without: ReadonlySet<number>;
}
type BranchEvent = Extract<ThreadEvent, { readonly type: "branch.started" | "branch.selected" }>;

interface Change {
  readonly seq: number;
  readonly branch: string;
}

export class BranchHistory {
  readonly #log: Pick<EventLog<ThreadEvents>, "get">;
  readonly #changes: Change[] = [];
  readonly #branches = new Map<string, Branch>();
  /** Seq of the event by which a branch was left last. */
  readonly #leftAt = new Map<string, number>();

  constructor(log: Pick<EventLog<ThreadEvents>, "get">) {
    this.#log = log;
    this.#branches.set(MAIN_BRANCH, MAIN);
  }

  /** Oldest first. */
  list(state: ThreadState): readonly Branch[] {
    this.#readTo(state.branch.seq);
    return [...this.#branches.values()];
  }

  get(state: ThreadState, branch: string): Branch | null {
    this.#readTo(state.branch.seq);
    return this.#branches.get(branch) ?? null;
  }

  /** The event that holds the window `branch` was left with; null when it never was. */
  leftBy(state: ThreadState, branch: string): BranchEvent | null {
    this.#readTo(state.branch.seq);
    const seq = this.#leftAt.get(branch);
    return seq === undefined ? null : this.#eventAt(seq);
  }

  segments(state: ThreadState): readonly Segment[] {
    this.#readTo(state.branch.seq);
    const starts = [{ seq: 1, branch: MAIN_BRANCH }, ...this.#changes];
    return starts.map(({ seq, branch }, index) => ({
      branch,
      from: seq,
      to: (starts[index + 1]?.seq ?? state.seq + 1) - 1,
    }));
  }

  membership(state: ThreadState, branch: string): Membership {
    const segments = this.segments(state);
    const held: Segment[] = [];
    const without = new Set<number>();
    let current: Branch | undefined = this.#branches.get(branch);
    let upTo = state.seq;
    while (current !== undefined && upTo > 0) {
      for (const segment of segments) {
        if (segment.branch !== current.branch || segment.from > upTo) continue;
        held.push({ ...segment, to: Math.min(segment.to, upTo) });
      }
      for (const seq of current.without) without.add(seq);
      // A branch begins where its parent was being written, so this only shrinks.
      upTo = current.keepTo;
      current = current.parent === null ? undefined : this.#branches.get(current.parent);
    }
    return { segments: held.toSorted((a, b) => a.from - b.from), without };
  }

  /** The branch that was active when `seq` was written. */
  branchAt(state: ThreadState, seq: number): string {
    return this.segments(state).findLast(({ from }) => from <= seq)?.branch ?? MAIN_BRANCH;
  }

  #readTo(newest: number | null): void {
    const known = this.#changes.at(-1)?.seq ?? 0;
    const unread: BranchEvent[] = [];
    for (let seq = newest; seq !== null && seq > known;) {
      const event: BranchEvent = this.#eventAt(seq);
      unread.push(event);
      seq = event.payload?.previous ?? null;
    }
    for (const event of unread.toReversed()) this.#take(event);
  }

  #take(event: BranchEvent): void {
    const { payload, header } = event;
    if (payload === null) throw new TypeError(`branch event ${header.seq} has its payload`);
    this.#leftAt.set(this.#changes.at(-1)?.branch ?? MAIN_BRANCH, header.seq);
    this.#changes.push({ seq: header.seq, branch: payload.branch });
    if (event.type !== "branch.started" || event.payload === null) return;
    const { branch, parent, reason, keepTo, without } = event.payload;
    const startSeq = header.seq;
    this.#branches.set(branch, {
      branch,
      parent,
      reason,
      keepTo,
      without,
      startSeq,
      createdAt: header.at,
    });
  }

  #eventAt(seq: number): BranchEvent {
    const event = this.#log.get(seq);
    if (event?.type === "branch.started" || event?.type === "branch.selected") return event;
    throw new TypeError(`event ${seq} is not a branch event`);
  }
}

const MAIN: Branch = {
  branch: MAIN_BRANCH,
  parent: null,
  reason: null,
  keepTo: 0,
  without: [],
  startSeq: 1,
  createdAt: 0,
};
