/** Documents of approvals; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import type { BudgetAsk } from "#kernel/amounts.ts";
import type { InboxEntry } from "#ports/approval-inbox.ts";
import type { ApprovalView } from "#ports/thread-gateway.ts";
import {
  AnyJson,
  BudgetStopDoc,
  Millis,
  PageQuery,
  Sha256,
  ThreadListQuery,
  ThreadParams,
} from "./wire.ts";

const MAX_COMMENT = 2_000;
const APPROVAL_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

const Kind = z.enum(["tool", "question", "budget"]).openapi({
  description:
    "`budget`: the run asks for more of a budget. Deciding it needs the scope `operate`.",
});
const State = z.enum(["open", "all"]);
const Decision = z.enum(["approved", "denied", "answered", "expired", "cancelled", "superseded"]);

export const ApprovalParams = ThreadParams.extend({ approval: z.string().regex(APPROVAL_ID) });
export const ApprovalsQuery = PageQuery.extend({ state: State.default("all") });
export const InboxQueryParams = ThreadListQuery.extend({ state: State.default("open") });

const BudgetAskDoc = z
  .object({
    stop: BudgetStopDoc,
    window: z.string(),
    amount: z.int().openapi({ description: "Granted on top of the limit, once, by a yes." }),
  })
  .openapi("BudgetAsk") satisfies z.ZodType<BudgetAsk>;

export const ApprovalDoc = z
  .object({
    approvalId: z.string(),
    kind: Kind.nullable(),
    tool: z.string().nullable(),
    version: z.string().nullable(),
    runId: z.string(),
    step: z.int(),
    callId: z.string(),
    binding: Sha256.nullable(),
    proposal: Sha256.nullable(),
    args: AnyJson.openapi({
      description: "Exactly what would run. Null for a question, or once erased.",
    }),
    question: z.string().nullable(),
    answerSchema: AnyJson.openapi({
      description: "JSON Schema of the answer; null takes any text.",
    }),
    budget: BudgetAskDoc.nullable(),
    requestedAt: Millis,
    expiresAt: Millis.nullable(),
    seq: z.int(),
    status: z.enum(["open", "decided"]),
    decision: Decision.nullable(),
    decidedBy: z
      .string()
      .nullable()
      .openapi({ description: "Opaque id; null where the runtime decided." }),
    decidedAt: Millis.nullable(),
    comment: z.string().nullable(),
    answer: AnyJson,
  })
  .openapi("Approval") satisfies z.ZodType<ApprovalView>;

export const InboxItemDoc = z
  .object({
    approval: z.string(),
    agent: z.string(),
    thread: z.string(),
    owner: z.string(),
    run: z.string(),
    call: z.string(),
    kind: Kind,
    tool: z.string(),
    requestedAt: Millis,
    expiresAt: Millis,
    decision: Decision.nullable(),
    decidedBy: z.string().nullable(),
    decidedAt: Millis.nullable(),
    path: z.string().openapi({ description: "Of the approval, with what it asks." }),
  })
  .openapi("InboxItem") satisfies z.ZodType<Pick<InboxEntry, "approval" | "run">>;
export const InboxDoc = z
  .object({ items: z.array(InboxItemDoc), next: z.string().nullable() })
  .openapi("Inbox");

export const DecisionBody = z
  .strictObject({
    decision: z.enum(["approve", "deny", "answer"]).openapi({
      description: "A call is approved or denied; a question is answered or denied.",
    }),
    comment: z
      .string()
      .max(MAX_COMMENT)
      .refine((text) => text.trim() !== "", { error: "must not be blank" })
      .optional()
      .openapi({ description: "The model reads it when you deny." }),
    answer: AnyJson.optional().openapi({
      description: "With `answer` only. It must fit the question's schema.",
    }),
  })
  .refine(({ decision, answer }) => (decision === "answer") === (answer !== undefined), {
    error: "`answer` comes with the decision `answer`, and with no other",
    path: ["answer"],
  })
  .openapi("Decision");
