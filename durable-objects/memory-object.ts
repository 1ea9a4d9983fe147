/**
 * MemoryObject: what belongs to one scope across threads, as a Durable Object. Today that is the erasure of a user: who
 * asked, how far it came, its receipt. The work is #memory; this is storage, alarm and RPC.
 */
import { DurableObject } from "cloudflare:workers";
import type { Clock } from "#ports/clock.ts";
import type { Directory } from "#ports/directory.ts";
import type { Eraser } from "#ports/eraser.ts";
import type { SubjectErasureView, SubjectStub } from "#ports/subject-gateway.ts";
import type { Caller, Reply, ThreadGateway } from "#ports/thread-gateway.ts";
import { SCOPE_CATALOGUE, type ScopeEvents } from "#memory/scope-events.ts";
import { SubjectErasure } from "#memory/subject-erasure.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { AppError } from "#shared/errors.ts";
import { fromSubjectName } from "#shared/ids.ts";
import { openLog, openStorage } from "./object-storage.ts";

export interface ScopeComposition {
  readonly directory: Directory;
  readonly threads: ThreadGateway;
  readonly erasers: readonly Eraser[];
  readonly clock: Clock;
  readonly report: (incident: {
    readonly event: string;
    readonly object: string;
    readonly message: string;
  }) => void;
  /** How long until an erasure that could not be finished is taken up again. */
  readonly heartbeatMs: number;
}

/** A composition root extends it and gives `compose`. */
export class MemoryObject<E = object> extends DurableObject<E> implements SubjectStub {
  static readonly compose: (env: never) => ScopeComposition = () => {
    throw new AppError("config_invalid", "this class has no composition", { kind: "faulted" });
  };
  readonly #compose: () => ScopeComposition;
  #erasure: SubjectErasure | null = null;

  constructor(ctx: DurableObjectState, env: E) {
    super(ctx, env);
    // The subclass takes the environment of its own deployment.
    const compose = new.target.compose as (env: E) => ScopeComposition;
    this.#compose = () => compose(env);
  }

  async eraseSubject(
    caller: Caller,
    live: "refuse" | "cancel",
  ): Promise<Reply<SubjectErasureView>> {
    const erasure = this.#open();
    const asked = erasure.request(caller, live);
    if (!asked.ok) return asked;
    await this.#arm();
    await this.#attempt();
    return erasure.view(caller);
  }

  async subjectErasure(caller: Caller): Promise<Reply<SubjectErasureView>> {
    return this.#open().view(caller);
  }

  override async alarm(): Promise<void> {
    if (!this.#open().isOpen) return;
    // Set before the work, so that a process that dies in it comes back.
    await this.#arm();
    await this.#attempt();
  }

  async #attempt(): Promise<void> {
    try {
      if (!(await this.#open().run())) await this.ctx.storage.deleteAlarm();
    } catch (error) {
      this.#compose().report({
        event: "erasure_waits",
        object: this.ctx.id.toString(),
        message: error instanceof Error ? error.message : "unknown",
      });
    }
  }

  #arm(): Promise<void> {
    return this.ctx.storage.setAlarm(Date.now() + this.#compose().heartbeatMs);
  }

  #open(): SubjectErasure {
    if (this.#erasure !== null) return this.#erasure;
    const address = fromSubjectName(this.ctx.id.name ?? "");
    if (address === null) throw new AppError("not_found", "no such scope");
    const log = openLog<ScopeEvents>(openStorage(this.ctx.storage, OBJECT_MIGRATIONS), {
      catalogue: SCOPE_CATALOGUE,
      defaults: { tenant: address.tenant, subject: address.subject },
      projections: [],
    });
    return (this.#erasure = new SubjectErasure({ ...address, ...this.#compose(), log }));
  }
}
