/**
 * ThreadGateway: how anything outside reaches a thread. The Durable Object implements `ThreadStub`; protocols see only this.
 *
 * Rules: the object's name is derived here from the caller's own tenant, so a foreign id cannot be addressed (Z3); the
 * owner is checked below routing, in the object, on every method (Z4); a missing or foreign thread is one and the same
 * `not_found`. Everything crossing is structured-clonable; no method shares a name with a member of the SDK base class. Rejections come back as values, because class identity does
 * not survive RPC.
 */
import type { Json } from "#shared/json.ts";
import type { ErrorCode } from "#shared/errors.ts";
import type { Result } from "#shared/result.ts";
import type { Receipt } from "#kernel/commands.ts";
import type { Delivery } from "#kernel/events.ts";
import type { OutputSpec } from "./model.ts";
import type { FileStat } from "./workspace.ts";
import type { EventHeader, RawEvent } from "./event-log.ts";
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
}
export type RunStatus = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";

export interface RunView {
  readonly runId: string;
  readonly status: RunStatus;
  readonly finish: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly text: string | null;
  readonly output: Json;
  readonly steps: number;
  readonly costMicros: number;
  readonly recoveryMicros: number;
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
  readonly activeRun: string | null;
  readonly queued: number;
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
}
export interface EventView {
  readonly header: EventHeader;
  readonly hash: string;
  readonly payload: Json;
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

export interface ThreadStub {
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
  putState(caller: Caller, state: Json, idempotencyKey: string | null): Promise<Reply<Receipt>>;
  run(caller: Caller, runId: string): Promise<Reply<RunView>>;
  runs(caller: Caller, page: PageRequest): Promise<Reply<Page<RunView>>>;
  messages(caller: Caller, page: PageRequest): Promise<Reply<Page<MessageView>>>;
  events(caller: Caller, page: PageRequest): Promise<Reply<Page<EventView>>>;
  /** Stored rows for verification; callers with scope `audit`. */
  export(caller: Caller, page: PageRequest): Promise<Reply<Page<RawEvent>>>;
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
  /** Content-bearing erase of one event's payload; callers with scope `erase`. */
  erasePayload(caller: Caller, seq: number): Promise<Reply<{ readonly erased: number }>>;
}

export interface ThreadGateway {
  thread(address: ThreadAddress): ThreadStub;
}
