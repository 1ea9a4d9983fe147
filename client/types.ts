/**
 * Documents of the REST API, from the schemas that the server validates with, and what an agent's type says of its events
 * (P117). Types only: no schema and no code of the server gets into a bundle (P110).
 */
import type { z } from "zod";
import type { TypedTool } from "../src/authoring/define-tool.ts";
import type { TypedAgent } from "../src/authoring/define-agent.ts";
import type { ThreadEvents } from "../src/kernel/events.ts";
import type { EventHeader } from "../src/ports/event-log.ts";
import type { Tool } from "../src/ports/tool.ts";
import type { Json, JsonObject } from "../src/shared/json.ts";
import type {
  AgentDoc,
  BranchDoc,
  EventDoc,
  FileDoc,
  MessageDoc,
  MessageReceiptDoc,
  ReceiptDoc,
  RunDoc,
  ThreadDoc,
  ThreadListItemDoc,
} from "../src/protocols/rest/wire.ts";
import type { ApprovalDoc, InboxItemDoc } from "../src/protocols/rest/wire-approvals.ts";
import type { ExplanationDoc, VerificationDoc } from "../src/protocols/rest/wire-audit.ts";
import type { BudgetDoc, LeaseDoc } from "../src/protocols/rest/wire-budgets.ts";
import type { ErasureDoc } from "../src/protocols/rest/wire-erasure.ts";
import type { PrincipalDoc, TicketDoc, TokenDoc } from "../src/protocols/rest/wire-credentials.ts";
import type { ScheduleBody, ScheduleDoc } from "../src/protocols/rest/wire-schedules.ts";
import type { Group, SpendItemDoc } from "../src/protocols/rest/wire-spend.ts";

export type Agent = z.output<typeof AgentDoc>;
export type Approval = z.output<typeof ApprovalDoc>;
export type Budget = z.output<typeof BudgetDoc>;
export type Branch = z.output<typeof BranchDoc>;
export type Erasure = z.output<typeof ErasureDoc>;
export type Explanation = z.output<typeof ExplanationDoc>;
export type InboxItem = z.output<typeof InboxItemDoc>;
export type Lease = z.output<typeof LeaseDoc>;
export type Message = z.output<typeof MessageDoc>;
export type MessageReceipt = z.output<typeof MessageReceiptDoc>;
export type Principal = z.output<typeof PrincipalDoc>;
export type Receipt = z.output<typeof ReceiptDoc>;
export type RecordedEvent = z.output<typeof EventDoc>;
export type Run = z.output<typeof RunDoc>;
export type Schedule = z.output<typeof ScheduleDoc>;
export type NewSchedule = z.input<typeof ScheduleBody>;
export type SpendGroup = Group;
export type SpendItem = z.output<typeof SpendItemDoc>;
export type Thread = z.output<typeof ThreadDoc>;
export type ThreadItem = z.output<typeof ThreadListItemDoc>;
export type Ticket = z.output<typeof TicketDoc>;
export type UserToken = z.output<typeof TokenDoc>;
export type Verification = z.output<typeof VerificationDoc>;
export type WorkspaceFile = z.output<typeof FileDoc>;

/** While a run is active: wait for its end, join it at its next step, be refused, or cancel it and start at once. */
export type Delivery = "queue" | "steer" | "reject" | "interrupt";
export type Decision =
  | { readonly decision: "approve"; readonly comment?: string }
  | { readonly decision: "deny"; readonly comment?: string }
  | { readonly decision: "answer"; readonly answer: unknown };

export interface Page<T, Next> {
  readonly items: readonly T[];
  /** `after` of the next page; null at the end. */
  readonly next: Next | null;
}
export interface PageOptions<Next> {
  readonly after?: Next;
  readonly limit?: number;
}

/** What an agent has to say of itself to a client: `typeof` of what `defineAgent` answered. */
export type AnyAgent = TypedAgent<Tool, unknown>;
/** Of an agent whose type is not known. */
export type UntypedAgent = TypedAgent<TypedTool<string, JsonObject>, Json>;

type TypesOf<A extends AnyAgent> = NonNullable<A["types"]>;
/** What a run's answer is, beside its text; null where the agent answers in text. */
export type OutputOf<A extends AnyAgent> = TypesOf<A>["output"];
/** Name and arguments of each tool, as one union: comparing `name` tells which arguments there are. */
export type CallOf<A extends AnyAgent> = CallOfTool<TypesOf<A>["tools"]>;
type CallOfTool<T> =
  T extends TypedTool<infer Name, infer Args>
    ? { readonly name: Name; readonly args: Args }
    : T extends Tool
      ? { readonly name: string; readonly args: JsonObject }
      : never;
export type ToolNameOf<A extends AnyAgent> = CallOf<A>["name"];

/** Payloads that say more when the agent's type is known. */
interface TypedPayloads<A extends AnyAgent, Output> {
  readonly "tool.started": Omit<ThreadEvents["tool.started"], "name" | "args"> & CallOf<A>;
  readonly "run.completed": Omit<ThreadEvents["run.completed"], "output"> & {
    readonly output: Output | null;
  };
}
type PayloadOf<
  A extends AnyAgent,
  Output,
  K extends keyof ThreadEvents,
> = K extends keyof TypedPayloads<A, Output> ? TypedPayloads<A, Output>[K] : ThreadEvents[K];

/** Position in a stream, as text: what a later `from` goes on behind. */
export type Cursor = string;

/** One event of the thread's log. */
export type LogItem<A extends AnyAgent = UntypedAgent, Output = OutputOf<A>> = {
  readonly [K in keyof ThreadEvents]: {
    readonly type: K;
    readonly cursor: Cursor;
    readonly header: EventHeader;
    readonly hash: string;
    /** Null once it was erased. */
    readonly payload: PayloadOf<A, Output, K> | null;
  };
}[keyof ThreadEvents];

/** What a stream brings: events of the log by their type, and live text that is not in the log. */
export type StreamItem<A extends AnyAgent = UntypedAgent, Output = OutputOf<A>> =
  | LogItem<A, Output>
  | {
      readonly type: "delta";
      readonly cursor: Cursor;
      readonly runId: string;
      readonly step: number;
      readonly text: string;
    }
  /** The text of this step so far is void: the model began again. */
  | {
      readonly type: "discard";
      readonly cursor: Cursor;
      readonly runId: string;
      readonly step: number;
      readonly attempt: number;
    }
  /** What was there is told; what follows is live. Once in a stream, whatever its connections. */
  | { readonly type: "caught_up"; readonly cursor: Cursor };

/** A run that has ended, or waits for a person. */
export type RunResult<Output> = Omit<Run, "output"> & { readonly output: Output | null };
