/**
 * Tool: what an agent can do, as the runner sees it. Authors write `defineTool` (#authoring/define-tool.ts).
 *
 * `effect` decides recovery after a crash between intent and outcome (rules G6 to G9):
 * read       run again.
 * idempotent run again with the same key.
 * reconcile  ask `check(key)` whether it happened; run only when it did not.
 * once       never run again by itself; the outcome is reported as unknown.
 */
import type { Json, JsonObject } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import type { ToolContent } from "./content.ts";
import type { Sandbox } from "./sandbox.ts";
import type { WorkspaceSession } from "./workspace.ts";

export type ToolEffect = "read" | "idempotent" | "reconcile" | "once";
/** `question`: the call is a question to a person, whose answer it returns. */
export type ToolApproval = "never" | "always" | "question";

export interface ToolLimits {
  /** Wall time of one attempt. */
  readonly timeoutMs: number;
  /** Longest result text that is handed to the model; the rest stays readable by its handle. */
  readonly maxResultBytes: number;
  readonly maxCallsPerRun: number;
  /**
   * Equal calls with equal results until the loop guard stops the run; at least 2. Default the agent's, 5. Raise it for a
   * tool that is meant to be polled.
   */
  readonly maxRepeats?: number;
  /** How long a call waits for a person. Default 7 days. */
  readonly approvalTimeoutMs?: number;
}
/** What a person decided about this call. */
export interface HumanDecision {
  readonly approvalId: string;
  /** Opaque id. */
  readonly by: string | null;
  readonly comment: string | null;
  /** Fits the question's schema; null where the call was approved. */
  readonly answer: Json;
}
export interface Question {
  readonly text: string;
  /** JSON Schema of the answer; null takes any text. */
  readonly answerSchema: JsonObject | null;
  /** How a client that asks in the person's place is to be asked. Absent: in the words of the question. */
  readonly client?: ClientRequest;
}
/**
 * A question to the program that a person sits at: a form, a sample of its language model, its folders. Its answer is the
 * call's result. PERSISTED CONTRACT inside `approval.requested`.
 */
export interface ClientRequest {
  /** Names it among others of the same call. */
  readonly key: string;
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params: JsonObject;
}
/** What a call says of itself on the way. PERSISTED CONTRACT as `tool.reported`. */
export type ToolReport =
  | {
      readonly type: "progress";
      readonly progress: number;
      readonly total: number | null;
      readonly message: string | null;
    }
  | {
      readonly type: "log";
      readonly level: "debug" | "info" | "warning" | "error";
      readonly data: Json;
    };
export interface ArgumentIssue {
  /** JSON Pointer (RFC 6901) into the arguments. */
  readonly path: string;
  readonly message: string;
}
export interface PlanItem {
  readonly text: string;
  readonly status: "pending" | "active" | "done" | "dropped";
}

export interface ToolContext {
  /** The same for every attempt of this call, unique to this call: hand it to the outside system. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborted on cancellation and on timeout; `reason` says which. */
  readonly signal: AbortSignal;
  readonly now: number;
  readonly files: WorkspaceSession;
  readonly sandbox: Sandbox;
  /** The plan as of this call, and its replacement, committed with the outcome. */
  readonly plan: readonly PlanItem[];
  setPlan(items: readonly PlanItem[]): void;
  /** Recorded at once, for who follows the run; at most 100 of a call. */
  report(report: ToolReport): void;
  /** Under which this call runs; null where no person was asked. */
  readonly approval: HumanDecision | null;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Raised by the author when behaviour changes; part of the pin of a run. */
  readonly version: string;
  readonly inputSchema: JsonObject;
  readonly effect: ToolEffect;
  readonly approval: ToolApproval;
  readonly limits: ToolLimits;
  /** Parsed JSON to the exact arguments that policy, audit and `execute` all see, defaults filled in. */
  parse(args: Json): Result<JsonObject, readonly ArgumentIssue[]>;
  /** A string is given to the model as it is; any other value as JSON. Throwing is an error result, not a crash. */
  execute(args: JsonObject, context: ToolContext): Promise<Json | ToolContent>;
  /** Required for approval `question`: what the person is shown. */
  question?(args: JsonObject): Question;
  /** Required for `reconcile`. `happened: true` carries the result of the first attempt. */
  check?(
    key: string,
    args: JsonObject,
    context: ToolContext,
  ): Promise<{ readonly happened: true; readonly result: Json } | { readonly happened: false }>;
}
