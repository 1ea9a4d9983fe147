/**
 * ThreadGateway: how anything outside reaches a thread. The Durable Object implements `ThreadStub`; protocols see only this.
 *
 * Rules: the object's name is derived here from the caller's own tenant, so a foreign id cannot be addressed (Z3); the
 * owner is checked below routing, in the object, on every method (Z4); a missing or foreign thread is one and the same
 * `not_found`. Everything crossing is structured-clonable; no method shares a name with a member of the SDK base class.
 * Rejections come back as values, because class identity does not survive RPC.
 */
import type { Json, JsonObject } from "#shared/json.ts";
import type { ErrorCode } from "#shared/errors.ts";
import type { Result } from "#shared/result.ts";
import type { Receipt } from "#kernel/commands.ts";
import type {
  ApprovalDecision,
  ApprovalKind,
  CallApprovalKind,
  BranchReason,
  DecisionVerb,
  Delivery,
  ErasedStore,
  ErasureTarget,
  LoopReport,
} from "#kernel/events.ts";
import type { BudgetAsk, BudgetStop } from "#kernel/amounts.ts";
import type { StoredTicket } from "./key-store.ts";
import type { PushStub } from "./push.ts";
import type { OutputSpec } from "./model.ts";
import type { LeaseHolderStub } from "./budget-ledger.ts";
import type { ClientRequest } from "./tool.ts";
import type { FileStat } from "./workspace.ts";
import type { AuditStub } from "./audit-stub.ts";
import type { EventHeader } from "./event-log.ts";
import type { DeliveryStub } from "./delivery-stub.ts";
import type { ScheduleStub } from "./schedule-stub.ts";
import type { LateUsage, SpendCheck } from "./spend.ts";
import type { AgentName, TenantId, ThreadAddress, ThreadId } from "#shared/ids.ts";

/** Who acts, as the gateway hands it on. */
export interface Caller {
  readonly tenant: TenantId;
  readonly kind: "user" | "service" | "operator";
  readonly id: string;
  readonly scopes: readonly string[];
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: { readonly [key: string]: Json };
  readonly retryable: boolean;
}
export type Reply<T> = Result<T, Failure>;

export interface SendMessage {
  readonly text: string;
  readonly delivery: Delivery;
  readonly output: OutputSpec | null;
  /** Client's own message id, or null to have one minted; the same id again is the same message (K2). */
  readonly messageId: string | null;
  /** Where it came from, as a label, when nobody of the tenant wrote it (P134). Absent: somebody did. */
  readonly outside?: string;
  /** Makes the message a run of its own (P60). Absent: none. */
  readonly extras?: RunExtras;
}
/** A function that the caller carries out itself: the run waits for its result (P60). */
export interface CallerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}
/** What a caller adds to the one run that its message begins. */
export interface RunExtras {
  readonly tools: readonly CallerTool[];
  /** Behind the agent's own, which they cannot replace; null for none. */
  readonly instructions: string | null;
  /** What was said elsewhere before, as the caller tells it; null for nothing. */
  readonly history: string | null;
  readonly call?: { readonly name: string; readonly args: JsonObject };
}
export type RunStatus = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";

export interface RunView {
  readonly runId: string;
  readonly status: RunStatus;
  readonly finish: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly budget?: BudgetStop | undefined;
  /** Of finish `loop_guard`: what went in circles (B4). */
  readonly loop: LoopReport | null;
  readonly text: string | null;
  readonly output: Json;
  readonly steps: number;
  /** Of all attempts whose price is known; null when there are others and none is (B23). */
  readonly costMicros: number | null;
  /** Of that: paid again after a crash, and taken from usage that was estimated. */
  readonly recoveryMicros: number;
  readonly estimatedMicros: number;
  /** Model attempts whose price nobody knew. */
  readonly unpriced: number;
  readonly tokens: number;
  readonly definition: string | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly startSeq: number;
  readonly endSeq: number | null;
}
export interface ThreadView {
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly title: string | null;
  readonly owner: string;
  readonly head: { readonly seq: number; readonly hash: string };
  /** The last pruned event; seq 0 where the history is whole. */
  readonly base: { readonly seq: number; readonly hash: string };
  readonly activeRun: string | null;
  readonly queued: number;
  /** An operator's stop, and who made it; null while the thread works. */
  readonly halted: {
    readonly at: number;
    readonly by: string | null;
    readonly reason: string | null;
  } | null;
  readonly plan: Json;
  readonly state: Json;
  readonly writable: boolean;
  /** `log_newer_than_code`, `migration_failed`, `log_corrupt`, or null. */
  readonly readOnlyReason: string | null;
}
export interface MessageView {
  readonly seq: number;
  readonly messageId: string;
  readonly runId: string | null;
  readonly role: "user" | "assistant" | "tool";
  readonly at: number;
  readonly content: Json;
  /** The branch it was written in. */
  readonly branch: string;
  /** The active branch does not hold it: another answer or text took its place, or the window was cleared. */
  readonly superseded: boolean;
}
/** One line of a conversation; the first is `main`. Exactly one is active. */
export interface BranchView {
  readonly branch: string;
  readonly parent: string | null;
  readonly reason: BranchReason | null;
  readonly active: boolean;
  /** Its messages begin behind this seq of its parent's; 0 for the first, and after a clear. */
  readonly keepTo: number;
  readonly startSeq: number;
  /** Newest seq written in it: its head. */
  readonly headSeq: number;
  readonly createdAt: number;
}
/** Messages of one branch; the active one by default, `all` for every one. */
export interface MessagePageRequest extends PageRequest {
  readonly branch?: string | null;
}
export interface Regenerate {
  /** A user message to answer again, or an answer to replace; null for the newest user message. */
  readonly messageId: string | null;
  readonly idempotencyKey: string | null;
}
export interface EditMessage {
  /** The user message that is replaced; it stays in the log. */
  readonly messageId: string;
  readonly text: string;
  /** Client's own id of the new message, or null to have one minted. */
  readonly newMessageId: string | null;
  readonly idempotencyKey: string | null;
}
export interface EventView {
  readonly header: EventHeader;
  readonly hash: string;
  readonly payload: Json;
}
/** What was asked is null once it is erased. */
export interface ApprovalView {
  readonly approvalId: string;
  readonly kind: ApprovalKind | null;
  readonly tool: string | null;
  readonly version: string | null;
  readonly runId: string;
  readonly step: number;
  readonly callId: string;
  /** SHA-256 over tool, version, schema digest, arguments and definition (A2). */
  readonly binding: string | null;
  /** Hash of the answer that proposed the call. */
  readonly proposal: string | null;
  /** Exactly what would run; null for a question. */
  readonly args: Json;
  readonly question: string | null;
  readonly answerSchema: Json;
  /** Of kind `budget`: what a yes grants. `client`: how a client is to be asked; absent: in the question's words. */
  readonly budget: BudgetAsk | null;
  readonly client?: ClientRequest;
  readonly requestedAt: number;
  readonly expiresAt: number | null;
  /** Of `approval.requested`; pages go by it. */
  readonly seq: number;
  readonly status: "open" | "decided";
  readonly decision: ApprovalDecision | null;
  /** Opaque id of who decided; null while open and where the runtime did. */
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
  readonly comment: string | null;
  readonly answer: Json;
}
export interface DecideApproval {
  readonly approvalId: string;
  readonly decision: DecisionVerb;
  readonly comment: string | null;
  /** For `answer` only, else null. */
  readonly answer: Json;
  /** Client's own id of the message that decides, where there is one. */
  readonly messageId?: string | null;
}
export interface FileUpload {
  readonly path: string;
  readonly content: Uint8Array;
  readonly idempotencyKey: string | null;
}
export interface Page<T> {
  readonly items: readonly T[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: number | null;
}
export interface PageRequest {
  readonly after: number;
  readonly limit: number;
}

/** Position in a thread's stream: all durable events up to `seq`, and `offset` characters of `attempt`'s live text. */
export interface StreamCursor {
  readonly seq: number;
  readonly attempt: number;
  readonly offset: number;
}
/** One frame of the stream, as JSON lines over RPC and as SSE over HTTP. */
export type StreamFrame =
  | { readonly type: "event"; readonly cursor: StreamCursor; readonly event: EventView }
  | {
      readonly type: "delta";
      readonly cursor: StreamCursor;
      readonly runId: string;
      readonly step: number;
      readonly text: string;
    }
  | {
      readonly type: "discard";
      readonly cursor: StreamCursor;
      readonly runId: string;
      readonly step: number;
      readonly attempt: number;
    }
  /** Replay is done; what follows is live. */
  | { readonly type: "caught_up"; readonly cursor: StreamCursor };

export interface ThreadStub
  extends PushStub, AuditStub, LeaseHolderStub, ScheduleStub, DeliveryStub {
  /** The platform's own way in: socket upgrades of the gateway only. 101, or a `Failure` as JSON. */
  fetch(request: Request): Promise<Response>;
  /** Keeps the hash of a ticket and whom it stands for, until its one use (P22). */
  storeTicket(caller: Caller, ticket: StoredTicket): Promise<Reply<null>>;
  /** Without the answer that is being written now: a stream brings that. */
  chatSnapshot(caller: Caller): Promise<Reply<ChatSnapshot>>;
  create(
    caller: Caller,
    title: string | null,
    idempotencyKey: string | null,
  ): Promise<Reply<ThreadView>>;
  view(caller: Caller): Promise<Reply<ThreadView>>;
  send(
    caller: Caller,
    message: SendMessage,
    idempotencyKey: string | null,
  ): Promise<Reply<Receipt>>;
  cancel(caller: Caller, runId: string, reason: string): Promise<Reply<Receipt>>;
  /**
   * Starts nothing until it is resumed, whatever wakes the thread; messages are refused as `thread_halted`. Callers with
   * scope `operate`. Halting what is halted, and resuming what is not, changes nothing.
   */
  halt(caller: Caller, reason: string, idempotencyKey: string | null): Promise<Reply<Receipt>>;
  resume(
    caller: Caller,
    reason: string | null,
    idempotencyKey: string | null,
  ): Promise<Reply<Receipt>>;
  /** Answers a message again in a new branch, which becomes active. Refused as `run_active` while a run is live. */
  regenerate(caller: Caller, request: Regenerate): Promise<Reply<Receipt>>;
  /** Replaces a user message in a new branch and answers it. Refused as `run_active` while a run is live. */
  edit(caller: Caller, request: EditMessage): Promise<Reply<Receipt>>;
  /** An empty branch: nothing before is in a later prompt. Files and shared state stay. */
  clearWindow(caller: Caller, idempotencyKey: string | null): Promise<Reply<Receipt>>;
  branches(caller: Caller): Promise<Reply<readonly BranchView[]>>;
  selectBranch(
    caller: Caller,
    branch: string,
    idempotencyKey: string | null,
  ): Promise<Reply<Receipt>>;
  approvals(
    caller: Caller,
    page: PageRequest & { readonly state: "open" | "all" },
  ): Promise<Reply<Page<ApprovalView>>>;
  approval(caller: Caller, approvalId: string): Promise<Reply<ApprovalView>>;
  /**
   * Decides once (A3). Later attempts fail as `approval_already_decided`, `approval_superseded`, `approval_expired` or
   * `approval_cancelled`, with `decision`, `decidedBy` and `decidedAt` in the detail. The owner, or scope `approvals:decide`.
   */
  decide(
    caller: Caller,
    decision: DecideApproval,
    idempotencyKey: string | null,
  ): Promise<Reply<ApprovalView>>;
  putState(caller: Caller, state: Json, idempotencyKey: string | null): Promise<Reply<Receipt>>;
  run(caller: Caller, runId: string): Promise<Reply<RunView>>;
  runs(caller: Caller, page: PageRequest): Promise<Reply<Page<RunView>>>;
  messages(caller: Caller, page: MessagePageRequest): Promise<Reply<Page<MessageView>>>;
  events(caller: Caller, page: PageRequest): Promise<Reply<Page<EventView>>>;
  files(caller: Caller, prefix: string): Promise<Reply<readonly FileStat[]>>;
  readFile(
    caller: Caller,
    path: string,
    range: { readonly offset: number; readonly limit: number },
  ): Promise<Reply<{ readonly stat: FileStat; readonly content: Uint8Array }>>;
  writeFile(
    caller: Caller,
    file: FileUpload,
  ): Promise<Reply<{ readonly receipt: Receipt; readonly stat: FileStat }>>;
  deleteFile(caller: Caller, path: string): Promise<Reply<Receipt>>;
  /** Bytes are UTF-8 JSON lines of `StreamFrame`; ends when `runId` (if given) is final, or the reader cancels. */
  stream(
    caller: Caller,
    options: {
      readonly from: StreamCursor;
      readonly runId: string | null;
      readonly deltas: boolean;
    },
  ): Promise<Reply<ReadableStream<Uint8Array>>>;
  /**
   * Forgets all content of the thread, or of one run; callers with scope `erase`. Works at once as far as it gets, and goes
   * on by itself. Again: the first receipt, as long as nothing was added since.
   */
  eraseContent(caller: Caller, request: EraseContent): Promise<Reply<ErasureView>>;
  /** The newest erasure of the thread, or of one run. */
  erasure(caller: Caller, runId: string | null): Promise<Reply<ErasureView>>;
  /** Callers with scope `operate`. */
  correctUsage(caller: Caller, late: LateUsage): Promise<Reply<Receipt>>;
  /** Compares the thread's rollup with its log; `replace` mends it. Callers with scope `operate`. */
  checkSpend(caller: Caller, replace: boolean): Promise<Reply<SpendCheck>>;
  /** Content-bearing erase of one event's payload; callers with scope `erase`. */
  erasePayload(caller: Caller, seq: number): Promise<Reply<{ readonly erased: number }>>;
}

export interface EraseContent {
  /** Null: the whole thread. */
  readonly runId: string | null;
  /** What becomes of runs that have not ended: refuse with `run_active`, or cancel them first. */
  readonly live: "refuse" | "cancel";
  /** The erasure of a subject that this is part of, or null. */
  readonly origin: string | null;
}
export interface ErasureView {
  readonly erasureId: string;
  readonly target: ErasureTarget;
  readonly runId: string | null;
  /** The erasure of a subject that it was part of, or null. */
  readonly origin: string | null;
  readonly status: "erasing" | "done";
  readonly requestedAt: number;
  readonly completedAt: number | null;
  /** Counts per store; all of them once done. */
  readonly stores: readonly ErasedStore[];
}

/** The newest messages, and what waits for a person, as one consistent picture. */
export interface ChatSnapshot {
  readonly views: readonly MessageView[];
  readonly open: readonly {
    readonly callId: string;
    readonly approvalId: string;
    readonly kind: CallApprovalKind;
  }[];
}

export interface ThreadGateway {
  thread(address: ThreadAddress): ThreadStub;
}
