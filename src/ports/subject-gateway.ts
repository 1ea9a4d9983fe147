/**
 * SubjectGateway: how anything outside reaches what belongs to one user of a tenant across threads. One MemoryObject per
 * scope implements it; its name is derived from the caller's own tenant (Z3).
 */
import type { ErasedStore } from "#kernel/events.ts";
import type { PrincipalId, TenantId } from "#shared/ids.ts";
import type { Caller, Reply } from "./thread-gateway.ts";

export interface SubjectErasureView {
  readonly erasureId: string;
  readonly subject: string;
  readonly status: "erasing" | "done";
  readonly requestedAt: number;
  readonly completedAt: number | null;
  readonly threads: {
    readonly done: number;
    /** Asked, and not done yet: a store is away, or a run is live. */
    readonly waiting: number;
  };
  /** Summed over all threads. */
  readonly stores: readonly ErasedStore[];
}

export interface SubjectStub {
  /** Forgets all content of every thread the subject owns now; callers with scope `erase`. Goes on by itself. */
  eraseSubject(caller: Caller, live: "refuse" | "cancel"): Promise<Reply<SubjectErasureView>>;
  subjectErasure(caller: Caller): Promise<Reply<SubjectErasureView>>;
}

export interface SubjectGateway {
  subject(tenant: TenantId, subject: PrincipalId): SubjectStub;
}
