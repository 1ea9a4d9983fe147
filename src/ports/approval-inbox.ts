/**
 * ApprovalInbox: which calls wait for a person, over all threads of a tenant. Fed by the outbox of each thread, so it may
 * lag; whether an approval is open is decided in its object.
 *
 * It holds no arguments, questions or comments: those lie in the thread's log, where erasure reaches them.
 * Contract (suite: test/contracts/approval-inbox.ts): every read names a tenant and, for a user, an owner (Z5).
 */
import type { ApprovalDecision, ApprovalKind } from "#kernel/events.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";

export interface InboxEntry {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  /** Of the thread. */
  readonly owner: string;
  readonly approval: string;
  readonly run: string;
  readonly call: string;
  readonly kind: ApprovalKind;
  readonly tool: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** Null while open, with who and when. */
  readonly decision: ApprovalDecision | null;
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
}
/** An approval's place in the order newest first. */
export type InboxPosition = Pick<InboxEntry, "requestedAt" | "approval">;

export interface InboxQuery {
  readonly tenant: TenantId;
  readonly visible: { readonly to: "owner"; readonly owner: string } | { readonly to: "tenant" };
  readonly state: "open" | "all";
  readonly after: InboxPosition | null;
  readonly limit: number;
}
export interface InboxDecision {
  readonly tenant: TenantId;
  readonly approval: string;
  readonly decision: ApprovalDecision;
  readonly decidedBy: string | null;
  readonly decidedAt: number;
}
export interface ApprovalInbox {
  /** From the outbox, so at least once: what is known already stays as it is, decision included. */
  opened(entry: InboxEntry): Promise<void>;
  /** The first decision stays. */
  closed(decision: InboxDecision): Promise<void>;
  list(query: InboxQuery): Promise<readonly InboxEntry[]>;
}
