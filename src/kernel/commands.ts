/**
 * Commands: what may be asked of a thread from outside. Every protocol decodes into these.
 *
 * A command is acknowledged only after its events are durable (K1). The same key again returns the first receipt (K2);
 * the same key with another body is refused (`idempotency_conflict`).
 */
import type { Json } from "#shared/json.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { Delivery } from "./events.ts";
import type { AgentManifest } from "./manifest.ts";

export interface CommandContext {
  /** Opaque id of who asks. */
  readonly actor: string;
  readonly idempotencyKey: string | null;
  /** SHA-256 of the canonical command body, compared when a key comes again. */
  readonly bodyDigest: string;
}

export type ThreadCommand =
  | { readonly type: "create_thread"; readonly owner: string; readonly title: string | null }
  | {
      readonly type: "send_message";
      readonly messageId: string;
      readonly runId: string;
      readonly text: string;
      readonly delivery: Delivery;
      readonly output: OutputSpec | null;
      /** The agent as registered now; the run that starts is pinned to it. */
      readonly manifest: AgentManifest;
      readonly definition: string;
    }
  | { readonly type: "cancel_run"; readonly runId: string; readonly reason: string }
  | { readonly type: "set_state"; readonly state: Json; readonly bytes: number }
  /** The content's chunks are stored by the host in the same transaction. */
  | {
      readonly type: "write_file";
      readonly path: string;
      readonly digest: string;
      readonly bytes: number;
    }
  | { readonly type: "delete_file"; readonly path: string };

export interface Receipt {
  /** Seq of the last event of the command. */
  readonly seq: number;
  readonly runId: string | null;
  readonly messageId: string | null;
  /** `steered`: the message joins the running run instead of starting one. */
  readonly disposition: "started" | "queued" | "steered" | "recorded" | "unchanged";
}

export type Rejection =
  | { readonly reason: "thread_exists" }
  | { readonly reason: "thread_missing" }
  /** Delivery `reject` while a run is live. */
  | { readonly reason: "run_active"; readonly runId: string }
  | { readonly reason: "run_unknown"; readonly runId: string }
  | { readonly reason: "run_not_active"; readonly runId: string; readonly status: string }
  | { readonly reason: "queue_full"; readonly limit: number }
  | { readonly reason: "state_too_large"; readonly limit: number; readonly bytes: number }
  | { readonly reason: "message_empty" }
  | { readonly reason: "file_missing"; readonly path: string };
