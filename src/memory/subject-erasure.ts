/**
 * SubjectErasure: the erasure of everything one user owns, thread by thread (H35).
 *
 * Owns the process, not the content: each thread erases itself, on a command that may come twice. What was asked and
 * answered is in the scope's log before the next thread is asked, so a process that dies goes on where it was. Threads
 * begun after the request are not part of it.
 */
import type { Clock } from "#ports/clock.ts";
import type { Directory, ThreadPosition } from "#ports/directory.ts";
import type { Eraser } from "#ports/eraser.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { SubjectErasureView } from "#ports/subject-gateway.ts";
import type { Caller, Failure, Reply, ThreadGateway } from "#ports/thread-gateway.ts";
import type { PrincipalId, TenantId } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import {
  SCOPE_FOLD,
  type OpenSubjectErasure,
  type ScopeEvents,
  type ScopeState,
} from "./scope-events.ts";

const PAGE = 50;
/** Threads asked in one go: one alarm stays far below what an alarm may take. */
const MAX_ASKED = 100;

export interface SubjectErasureDeps {
  readonly tenant: TenantId;
  readonly subject: PrincipalId;
  readonly log: EventLog<ScopeEvents>;
  readonly directory: Pick<Directory, "list">;
  readonly threads: ThreadGateway;
  /** For threads that were registered and never created: no object answers for what lies outside. */
  readonly erasers: readonly Eraser[];
  readonly clock: Clock;
}
type Asked = Pick<ScopeEvents["erasure.thread_asked"], "outcome" | "fresh" | "stores">;

export class SubjectErasure {
  readonly #deps: SubjectErasureDeps;
  #state: ScopeState;
  #running: Promise<boolean> | null = null;

  constructor(deps: SubjectErasureDeps) {
    this.#deps = deps;
    this.#state = deps.log.fold(SCOPE_FOLD).state;
  }

  get isOpen(): boolean {
    return this.#state.erasure !== null;
  }

  request(caller: Caller, live: "refuse" | "cancel"): Reply<null> {
    const allowed = this.#check(caller);
    if (!allowed.ok || this.isOpen) return allowed;
    const { kind, id } = caller;
    this.#append({ type: "erasure.requested", payload: { live, caller: { kind, id } } }, id);
    return ok(null);
  }

  view(caller: Caller): Reply<SubjectErasureView> {
    const allowed = this.#check(caller);
    if (!allowed.ok) return allowed;
    const { erasure, receipt } = this.#state;
    const { subject } = this.#deps;
    if (erasure !== null) {
      const { id: erasureId, requestedAt, done, waiting, stores } = erasure;
      const threads = { done, waiting: waiting.length };
      return ok({
        erasureId,
        subject,
        status: "erasing",
        requestedAt,
        completedAt: null,
        threads,
        stores,
      });
    }
    if (receipt === null) return err(NO_ERASURE);
    const { id: erasureId, requestedAt, completedAt, threads: done, stores } = receipt;
    const threads = { done, waiting: 0 };
    return ok({ erasureId, subject, status: "done", requestedAt, completedAt, threads, stores });
  }

  /** True while something is left. Throws where the directory is away. */
  run(): Promise<boolean> {
    this.#running ??= this.#work().finally(() => (this.#running = null));
    return this.#running;
  }

  async #work(): Promise<boolean> {
    const open = this.#state.erasure;
    if (open === null) return false;
    // Those that waited before are asked once again; those that wait now, next time.
    for (const place of open.waiting) await this.#ask(open, place);
    for (let asked = 0; asked < MAX_ASKED; asked += PAGE) {
      const { tenant, subject, directory } = this.#deps;
      const after = this.#state.erasure?.after ?? null;
      const visible = { to: "owner", owner: subject } as const;
      const page = await directory.list({ tenant, visible, agent: null, after, limit: PAGE });
      for (const { createdAt, agent, thread } of page) {
        if (createdAt <= open.requestedAt) await this.#ask(open, { createdAt, agent, thread });
      }
      if (page.length < PAGE) return this.#settle();
    }
    return true;
  }

  #settle(): boolean {
    const { erasure } = this.#state;
    if (erasure === null || erasure.waiting.length > 0) return erasure !== null;
    const { done: threads, stores, caller } = erasure;
    this.#append({ type: "erasure.completed", payload: { threads, stores } }, caller.id);
    return false;
  }

  async #ask(
    open: OpenSubjectErasure,
    { createdAt, agent, thread }: ThreadPosition,
  ): Promise<void> {
    const asked = await this.#erase(open, { createdAt, agent, thread });
    const scope = { agent, thread };
    this.#append(
      { type: "erasure.thread_asked", payload: { createdAt, ...asked }, scope },
      open.caller.id,
    );
  }

  async #erase(open: OpenSubjectErasure, { agent, thread }: ThreadPosition): Promise<Asked> {
    const { tenant, threads, erasers } = this.#deps;
    const caller: Caller = { tenant, ...open.caller, scopes: ["erase"] };
    const address = { tenant, agent, thread };
    try {
      const request = { runId: null, live: open.live, origin: open.id };
      const reply = await threads.thread(address).eraseContent(caller, request);
      if (reply.ok) {
        const { status, origin, stores } = reply.value;
        if (status !== "done") return WAITING;
        const fresh = origin === open.id;
        return { outcome: "done", fresh, stores: fresh ? stores : [] };
      }
      if (reply.error.code !== "not_found") return WAITING;
      for (const eraser of erasers) await eraser.erase({ ...address, runId: null });
      return { outcome: "done", fresh: false, stores: [] };
    } catch {
      // Away, or restarted in the middle: it is asked again.
      return WAITING;
    }
  }

  /** A user may erase what is their own; for others it takes a key of the tenant. */
  #check(caller: Caller): Reply<null> {
    const { tenant, subject } = this.#deps;
    if (caller.tenant !== tenant || (caller.kind === "user" && caller.id !== subject))
      return err(NO_ERASURE);
    return caller.scopes.includes("erase") || caller.scopes.includes("admin")
      ? ok(null)
      : err(FORBIDDEN);
  }

  #append(draft: Parameters<EventLog<ScopeEvents>["append"]>[0][number], actor: string): void {
    const { log, clock } = this.#deps;
    const scope = { ...draft.scope, actor };
    const events = log.append([{ ...draft, scope }], { at: clock.now() });
    this.#state = events.reduce(SCOPE_FOLD.evolve, this.#state);
  }
}

const WAITING: Asked = { outcome: "waiting", fresh: false, stores: [] };
const NO_ERASURE: Failure = {
  code: "not_found",
  message: "no erasure was asked for",
  detail: {},
  retryable: false,
};
const FORBIDDEN: Failure = {
  code: "forbidden",
  message: "this needs the scope erase",
  detail: { scope: "erase" },
  retryable: false,
};
