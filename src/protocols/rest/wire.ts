/**
 * Every document of the REST API. The schemas that validate requests are the ones the OpenAPI document is made of (P5).
 *
 * Objects are strict: an unknown field is a mistake that the client should hear about. Responses are the views of
 * #ports/thread-gateway.ts; `ZodType<View>` makes the compiler compare both.
 */
import { z } from "@hono/zod-openapi";
import type { Json } from "#shared/json.ts";
import type { LoopReport } from "#kernel/events.ts";
import type { EventHeader } from "#ports/event-log.ts";
import type {
  BranchView,
  EventView,
  MessageView,
  RunView,
  ThreadView,
} from "#ports/thread-gateway.ts";
import type { FileStat } from "#ports/workspace.ts";
import type { BudgetStop } from "#kernel/amounts.ts";
import type { OutputSpec } from "#ports/model.ts";
import { isAgentName, isMessageId, isRunId, isThreadId } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";

const MAX_TEXT_BYTES = 200_000;
const MAX_PAGE = 200;

/** JSON.parse made it, so it is JSON. A member of this type is never absent, which the document then says too. */
export const AnyJson = z
  .unknown()
  .refine((value) => value !== undefined)
  .openapi({ description: "Any JSON value." }) as unknown as z.ZodType<Json>;
const JsonRecord = z.record(z.string(), AnyJson);
export const Millis = z.int().openapi({ description: "Epoch milliseconds." });
export const Sha256 = z.string().openapi({ description: "SHA-256, lower-case hex." });

const SLUG_RULE = "1 to 48 of a-z, 0-9 and -, not starting with -";
export const TOKEN_RULE = "1 to 64 of A-Z, a-z, 0-9, _ and -, starting with a letter or digit";
export const AgentNameParam = z
  .string()
  .refine(isAgentName)
  .openapi({ description: SLUG_RULE, example: "analyst" });
export const ThreadIdText = z
  .string()
  .refine(isThreadId, { error: TOKEN_RULE })
  .openapi({ description: TOKEN_RULE });
const MessageIdText = z.string().refine(isMessageId, { error: TOKEN_RULE });

const BranchIdText = z.string().refine(isMessageId, { error: TOKEN_RULE });

export const AgentParams = z.object({ agent: AgentNameParam });
export const ThreadParams = AgentParams.extend({ thread: ThreadIdText });
export const RunParams = ThreadParams.extend({ run: z.string().refine(isRunId) });
export const MessageParams = ThreadParams.extend({ message: MessageIdText });
export const BranchParams = ThreadParams.extend({ branch: BranchIdText });
export const FileParams = ThreadParams.extend({
  path: z.string().openapi({
    description: "The file's path. It may hold `/`, plain or as %2F.",
    example: "data.csv",
  }),
});
export const EventParams = ThreadParams.extend({
  seq: digits({ min: 1, max: Number.MAX_SAFE_INTEGER }),
});
export const NoParams = z.object({});
export const NoQuery = z.strictObject({});

/** A whole number in a URL: `z.coerce` would take "", "0x1" and "1e3" as well. */
function digits(range: { readonly min: number; readonly max: number }) {
  return z
    .string()
    .regex(/^\d{1,16}$/, { error: "a whole number" })
    .transform(Number)
    .pipe(z.int().min(range.min).max(range.max))
    .openapi({ type: "integer", minimum: range.min, maximum: range.max });
}

export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/)
  .optional()
  .openapi({
    description:
      "1 to 128 printable ASCII characters. The same key again returns the first receipt.",
  });

export const PageQuery = z.strictObject({
  after: digits({ min: 0, max: Number.MAX_SAFE_INTEGER })
    .default(0)
    .openapi({ description: "`next` of the page before." }),
  limit: digits({ min: 1, max: MAX_PAGE }).default(50),
});
export const MessagesQuery = PageQuery.extend({
  branch: BranchIdText.optional().openapi({
    description: "Default the active branch; `all` for the messages of every branch.",
  }),
});
export const ThreadListQuery = z.strictObject({
  after: z.string().max(200).optional().openapi({ description: "`next` of the page before." }),
  limit: digits({ min: 1, max: MAX_PAGE }).default(50),
});
export const EventsQuery = PageQuery.extend({
  from: z.string().max(64).optional().openapi({
    description:
      "Stream only: begin after this position `seq.attempt.offset`. Last-Event-ID goes before it.",
  }),
  run: z
    .string()
    .refine(isRunId)
    .optional()
    .openapi({ description: "Stream only: end when this run has ended." }),
  deltas: z
    .enum(["0", "1"])
    .default("1")
    .openapi({ description: "Stream only: 0 leaves out live text." }),
});
export const FilesQuery = z.strictObject({ prefix: z.string().max(512).default("") });

export const CreateThreadBody = z
  .strictObject({
    id: ThreadIdText.optional().openapi({
      description: `Your own id, or absent to have one made. ${TOKEN_RULE}.`,
    }),
    title: z.string().min(1).max(200).optional(),
  })
  .openapi("CreateThread");

const Output: z.ZodType<OutputSpec> = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    schema: JsonRecord.openapi({ description: "JSON Schema of the answer." }),
  })
  .openapi("OutputSpec");

const MessageText = z
  .string()
  .refine((text) => text.trim() !== "", { error: "must not be blank" })
  .refine((text) => utf8(text).byteLength <= MAX_TEXT_BYTES, {
    error: `at most ${MAX_TEXT_BYTES} bytes`,
  })
  .openapi({ example: "How many rows does data.csv have?" });

export const SendMessageBody = z
  .strictObject({
    text: MessageText,
    delivery: z.enum(["queue", "steer", "reject", "interrupt"]).default("queue").openapi({
      description:
        "While a run is active: wait for its end, join it at its next step, be refused as `run_active`, or cancel it and start at once.",
    }),
    output: Output.nullable().default(null),
    messageId: MessageIdText.optional().openapi({
      description: "Your own id: the same again is the same message.",
    }),
  })
  .openapi("SendMessage");

export const EditMessageBody = z
  .strictObject({
    text: MessageText,
    messageId: MessageIdText.optional().openapi({ description: "Your own id of the new message." }),
  })
  .openapi("EditMessage");

export const CancelRunBody = z
  .strictObject({ reason: z.string().min(1).max(500).default("cancelled by the client") })
  .openapi("CancelRun");

export const ReceiptDoc = z
  .object({
    seq: z.int(),
    runId: z.string().nullable(),
    messageId: z.string().nullable(),
    disposition: z.enum(["started", "queued", "steered", "recorded", "unchanged"]),
    branch: z.string().optional().openapi({ description: "The branch that became active." }),
  })
  .openapi("Receipt");
export const MessageReceiptDoc = ReceiptDoc.extend({
  agent: z.string(),
  thread: z.string(),
  run: z.string().nullable().openapi({ description: "Path of the run." }),
  stream: z.string().openapi({
    description: "Path of the event stream from this message on, to the end of its run.",
  }),
}).openapi("MessageReceipt");

const HaltDoc = z
  .object({ at: Millis, by: z.string().nullable(), reason: z.string().nullable() })
  .openapi("Halt");
export const ThreadDoc = z
  .object({
    agent: z.string().refine(isAgentName),
    thread: z.string().refine(isThreadId),
    title: z.string().nullable(),
    owner: z.string(),
    head: z.object({ seq: z.int(), hash: Sha256 }),
    base: z.object({ seq: z.int(), hash: Sha256 }).openapi({
      description: "The last pruned event; seq 0 where the history is whole.",
    }),
    activeRun: z.string().nullable(),
    queued: z.int(),
    halted: HaltDoc.nullable().openapi({
      description: "An operator's stop: nothing is started, and messages are refused.",
    }),
    plan: AnyJson,
    state: AnyJson,
    writable: z.boolean(),
    readOnlyReason: z.string().nullable(),
  })
  .openapi("Thread") satisfies z.ZodType<ThreadView>;

export const ThreadListItemDoc = z
  .object({
    agent: z.string(),
    thread: z.string(),
    owner: z.string(),
    title: z.string().nullable(),
    createdAt: Millis,
    updatedAt: Millis,
    lastSeq: z.int(),
  })
  .openapi("ThreadListItem");
export const ThreadListDoc = z
  .object({ items: z.array(ThreadListItemDoc), next: z.string().nullable() })
  .openapi("ThreadList");

export const LoopDoc = z
  .object({
    pattern: z.enum(["repeat", "cycle_2", "cycle_3", "no_progress", "unknown_tools"]),
    tool: z.string(),
    args: z.string().openapi({
      description:
        "Digest of the newest call's canonical arguments: equal ones have equal digests.",
    }),
    count: z.int().openapi({ description: "Calls of the pattern; of `unknown_tools` steps." }),
  })
  .openapi("LoopReport") satisfies z.ZodType<LoopReport>;

export const BudgetStopDoc = z
  .object({
    budgetId: z.string(),
    scope: z.enum(["tenant", "agent", "user", "thread"]),
    period: z.enum(["day", "month", "total"]),
    unit: z.enum(["costMicros", "tokens", "steps", "wallMs"]),
    limit: z.int(),
    raised: z
      .int()
      .optional()
      .openapi({ description: "Granted by people on top of the limit. Absent: nothing." }),
    spent: z.int(),
    leased: z.int(),
    needed: z.int(),
    cause: z.enum(["limit", "overrun", "price_unknown"]),
    resetsAt: Millis.nullable(),
  })
  .openapi("BudgetStop", {
    description:
      "With reason `budget_exceeded` or `price_unknown`: which budget, and what it lacks.",
  }) satisfies z.ZodType<BudgetStop>;

export const RunDoc = z
  .object({
    runId: z.string(),
    status: z.enum(["queued", "running", "waiting", "completed", "failed", "cancelled"]),
    finish: z.string().nullable(),
    reason: z.string().nullable(),
    message: z.string().nullable(),
    loop: LoopDoc.nullable().openapi({ description: "Of finish `loop_guard`: why." }),
    budget: BudgetStopDoc.optional(),
    text: z.string().nullable(),
    output: AnyJson,
    steps: z.int(),
    costMicros: z.int().nullable().openapi({
      description: "Micro-dollars of all attempts whose price is known. Null when none is.",
    }),
    recoveryMicros: z.int().openapi({ description: "Of that: paid again after a crash." }),
    estimatedMicros: z.int().openapi({ description: "Of that: usage that was estimated." }),
    unpriced: z.int().openapi({ description: "Model attempts whose price nobody knew." }),
    tokens: z.int(),
    definition: z.string().nullable(),
    createdAt: Millis,
    endedAt: Millis.nullable(),
    startSeq: z.int(),
    endSeq: z.int().nullable(),
  })
  .openapi("Run") satisfies z.ZodType<RunView>;

export const MessageDoc = z
  .object({
    seq: z.int(),
    messageId: z.string(),
    runId: z.string().nullable(),
    role: z.enum(["user", "assistant", "tool"]),
    at: Millis,
    content: AnyJson,
    branch: z.string(),
    superseded: z
      .boolean()
      .openapi({ description: "True when the active branch does not hold it." }),
  })
  .openapi("Message") satisfies z.ZodType<MessageView>;

export const BranchDoc = z
  .object({
    branch: z.string(),
    parent: z.string().nullable(),
    reason: z.enum(["regenerate", "edit", "clear"]).nullable(),
    active: z.boolean(),
    keepTo: z.int().openapi({ description: "Up to this seq it holds what its parent holds." }),
    startSeq: z.int(),
    headSeq: z.int(),
    createdAt: Millis,
  })
  .openapi("Branch") satisfies z.ZodType<BranchView>;
export const BranchListDoc = z.object({ items: z.array(BranchDoc) }).openapi("BranchList");

/** The header is passed on as it is stored; its fields are those of docs/events.md. */
const HeaderDoc = z
  .looseObject({ seq: z.int(), type: z.string(), at: Millis })
  .openapi("EventHeader") as unknown as z.ZodType<EventHeader>;
export const EventDoc = z
  .object({
    header: HeaderDoc,
    hash: Sha256,
    payload: AnyJson.openapi({ description: "Null once erased." }),
  })
  .openapi("Event") satisfies z.ZodType<EventView>;

export const FileDoc = z
  .object({ path: z.string(), bytes: z.int(), digest: Sha256, updatedAt: Millis })
  .openapi("File") satisfies z.ZodType<FileStat>;
export const FileListDoc = z.object({ items: z.array(FileDoc) }).openapi("FileList");
export const FileWrittenDoc = z
  .object({ receipt: ReceiptDoc, file: FileDoc })
  .openapi("FileWritten");

export function pageOf<S extends z.ZodType>(item: S, name: string) {
  return z
    .object({
      items: z.array(item),
      next: z.int().nullable().openapi({ description: "`after` of the next page." }),
    })
    .openapi(name);
}

export const AgentDoc = z
  .object({
    name: z.string(),
    description: z.string(),
    definition: Sha256,
    model: z.string().openapi({ description: "Route of its model.", example: "embedded/scripted" }),
    tools: z.array(z.object({ name: z.string(), description: z.string(), version: z.string() })),
    manifest: JsonRecord.nullable().openapi({
      description: "Null for users: instructions are the operator's.",
    }),
  })
  .openapi("Agent");
export const AgentListDoc = z.object({ items: z.array(AgentDoc) }).openapi("AgentList");

export const ErasedDoc = z.object({ erased: z.int() }).openapi("Erased");

export const ProblemDoc = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().openapi({ description: "Stable. Match on this." }),
    detail: z.string(),
    retryable: z.boolean(),
    requestId: z.string(),
    context: JsonRecord,
  })
  .openapi("Problem");
