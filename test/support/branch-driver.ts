/** Branch commands: what a host does with them, over a KernelDriver or a whole runtime. */
import { leftWindow } from "#kernel/branch.ts";
import type { BranchRun, Receipt, ThreadCommand } from "#kernel/commands.ts";
import { BranchHistory } from "#runner/branch-history.ts";
import { findInput, pointBefore } from "#runner/branch-point.ts";
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { Result } from "#shared/result.ts";
import type { KernelDriver } from "./kernel-driver.ts";

type Answer = Result<Omit<Receipt, "seq">, { readonly reason: string }>;
type ThreadLog = Pick<EventLog<ThreadEvents>, "get" | "read">;

export interface BranchHost {
  readonly state: ThreadState;
  readonly manifest: AgentManifest;
  readonly definition: string;
  mint(prefix: string): string;
  command(command: ThreadCommand): Answer;
}

const UNKNOWN = { ok: false, error: { reason: "message_unknown" } } as const;

/** The driver's events as a log that can be read. */
export function logOf(driver: KernelDriver): ThreadLog {
  return {
    get: (seq) => driver.events[seq - 1] ?? null,
    read({ from = 1, to = driver.events.length, limit = 500, reverse = false } = {}) {
      const page: readonly ThreadEvent[] = driver.events.slice(from - 1, to);
      return (reverse ? page.toReversed() : page).slice(0, limit);
    },
  };
}

export class BranchDriver {
  readonly #driver: BranchHost;
  readonly #log: ThreadLog;
  readonly history: BranchHistory;

  constructor(driver: BranchHost, log: ThreadLog) {
    this.#driver = driver;
    this.#log = log;
    this.history = new BranchHistory(log);
  }

  /** Null for the newest message. */
  regenerate(messageId: string | null = null): Answer {
    const found = this.#find(messageId, false);
    if (found === null || found.input.payload === null) return UNKNOWN;
    const { messageId: id, text, output } = found.input.payload;
    const seq = found.input.header.seq;
    return this.#start("regenerate", found.point, { messageId: id, text, output, seq });
  }

  edit(messageId: string, text: string): Answer {
    const found = this.#find(messageId, true);
    if (found === null) return UNKNOWN;
    const output = found.input.payload?.output ?? null;
    const message = { messageId: this.#driver.mint("msg"), text, output, seq: null };
    return this.#start("edit", found.point, message);
  }

  clear(): Answer {
    const parent = this.#driver.state.branch.id;
    const point = { parent, keepTo: 0, without: [], entries: [], plan: [] };
    return this.#start("clear", point, null);
  }

  select(branch: string): Answer {
    const left = this.history.leftBy(this.#driver.state, branch)?.payload ?? null;
    const window =
      left === null ? { entries: [], plan: [] } : leftWindow(left, (seq) => this.#log.get(seq));
    return this.#driver.command({ type: "select_branch", branch, window });
  }

  names(): readonly string[] {
    return this.history.list(this.#driver.state).map(({ branch }) => branch);
  }

  #find(messageId: string | null, replaced: boolean): ReturnType<typeof pointBefore> {
    const { state } = this.#driver;
    const source = { log: this.#log, history: this.history, state };
    const input = findInput(source, messageId);
    return input === null ? null : pointBefore(source, input, { replaced });
  }

  #start(
    reason: "regenerate" | "edit" | "clear",
    point: NonNullable<ReturnType<typeof pointBefore>>["point"],
    message: Pick<BranchRun, "messageId" | "text" | "output" | "seq"> | null,
  ): Answer {
    const { manifest, definition } = this.#driver;
    const run = message && { ...message, runId: this.#driver.mint("run"), manifest, definition };
    const branch = this.#driver.mint("br");
    return this.#driver.command({ type: "start_branch", branch, reason, point, run });
  }
}
