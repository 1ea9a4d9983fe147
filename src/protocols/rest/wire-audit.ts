/** Documents of the audit; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import type {
  CallView,
  ExplanationView,
  ModelAttemptView,
  StepView,
  VerificationView,
} from "#ports/audit-views.ts";
import { AnyJson, Millis, PageQuery, Sha256 } from "./wire.ts";

export const VerifyQuery = PageQuery.pick({ after: true });
export const ExplainQuery = PageQuery.extend({
  limit: PageQuery.shape.limit.removeDefault().default(5),
});

const Head = z.object({ seq: z.int(), hash: Sha256 });
const FaultDoc = z.object({
  logId: z.string(),
  seq: z.int().openapi({ description: "First bad place of the log." }),
  reason: z.string().openapi({ description: "As `npm run audit:verify` names it." }),
  since: z.int().openapi({ description: "Newest place before it that a signed head confirms." }),
});
export const VerificationDoc = z
  .object({
    logId: z.string(),
    ok: z.boolean().openapi({ description: "Nothing is wrong in what was checked." }),
    base: Head,
    head: Head,
    from: z.int(),
    to: z.int(),
    events: z.int(),
    erased: z.int(),
    fault: FaultDoc.nullable(),
    anchors: z.object({
      verified: z.int().openapi({ description: "Signed heads that fit the chain." }),
      inOneStore: z.int(),
      newest: z.object({ seq: z.int(), hash: Sha256, at: Millis, keyId: z.string() }).nullable(),
      signing: z.boolean(),
    }),
    next: z.int().nullable().openapi({ description: "`after` of the next part; null at the end." }),
  })
  .openapi("Verification") satisfies z.ZodType<VerificationView>;

const Place = z.object({ seq: z.int(), hash: Sha256, at: Millis });
const NoteDoc = Place.extend({ type: z.string(), payload: AnyJson, erased: z.boolean() }).openapi(
  "EventNote",
);
const Loose = <T>(description: string): z.ZodType<T> =>
  AnyJson.openapi({ description }) as unknown as z.ZodType<T>;
const CostDoc = z.object({
  micros: z.int().nullable().openapi({ description: "Null where nobody knew the price." }),
  kind: z.enum(["normal", "recovery", "estimated"]).nullable(),
  priceVersion: z.string().nullable(),
  leaseId: z.string().nullable(),
});
const Verdicts = () =>
  Loose<ModelAttemptView["verdicts"]>(
    "What policy, guardrail and loop guard said, in their words.",
  );
const Reserved = () => Loose<ModelAttemptView["reservation"]>("What was reserved before the call.");

const AttemptDoc = Place.extend({
  attempt: z.int(),
  definition: z.string().nullable(),
  route: z.string(),
  settings: Loose<ModelAttemptView["settings"]>("Settings of the model."),
  verdicts: Verdicts(),
  reservation: Reserved(),
  prompt: z
    .object({
      request: Loose<NonNullable<ModelAttemptView["prompt"]>["request"]>(
        "Instructions, messages, tools, settings and output schema, as the model saw them.",
      ),
      digest: Sha256,
      recorded: Sha256,
      intact: z
        .boolean()
        .openapi({ description: "Compiled again, it has the digest that was recorded." }),
    })
    .nullable(),
  promptMissing: z.string().nullable(),
  outcome: Place.extend({
    status: z.enum(["answered", "failed", "interrupted"]),
    erased: z.boolean(),
    parts: Loose<NonNullable<ModelAttemptView["outcome"]>["parts"]>("Text, reasoning and calls."),
    finish: z.enum(["stop", "length", "tool_calls", "content_filter", "other"]).nullable(),
    usage: Loose<NonNullable<ModelAttemptView["outcome"]>["usage"]>("Tokens as the provider said."),
    code: z.string().nullable(),
    message: z.string().nullable(),
    cost: CostDoc,
  }).nullable(),
}) satisfies z.ZodType<ModelAttemptView>;

const DecidedDoc = z.object({
  approvalId: z.string(),
  kind: z.enum(["tool", "question", "budget"]).nullable(),
  requested: Place,
  shown: AnyJson.openapi({
    description:
      "The arguments that would run, the question, or the budget with what is asked of it.",
  }),
  decided: Place.nullable(),
  decision: z
    .enum(["approved", "denied", "answered", "expired", "cancelled", "superseded"])
    .nullable(),
  decidedBy: z.string().nullable(),
  comment: z.string().nullable(),
  answer: AnyJson,
  refused: z.array(Place.extend({ by: z.string().nullable() })),
});

const CallDoc = z.object({
  callId: z.string(),
  name: z.string().nullable(),
  approvals: z.array(DecidedDoc),
  attempts: z.array(
    Place.extend({
      attempt: z.int(),
      mode: z.enum(["execute", "check"]).nullable(),
      effect: Loose<CallView["attempts"][number]["effect"]>("Effect that the tool declares."),
      version: z.string().nullable(),
      args: Loose<CallView["attempts"][number]["args"]>("Exactly what the tool got."),
      idempotencyKey: z.string().nullable(),
      verdicts: Loose<CallView["attempts"][number]["verdicts"]>("As of a model call."),
      reservation: Loose<CallView["attempts"][number]["reservation"]>("As of a model call."),
      erased: z.boolean(),
      outcome: Place.extend({
        status: z.enum(["finished", "interrupted", "late"]),
        result: Loose<NonNullable<CallView["attempts"][number]["outcome"]>["result"]>(
          "What the model was shown; the whole lies behind its handle.",
        ),
        erased: z.boolean(),
        cost: CostDoc,
      }).nullable(),
    }),
  ),
  refusal: Place.extend({
    refusal: Loose<NonNullable<CallView["refusal"]>["refusal"]>("Why nothing was dispatched."),
  }).nullable(),
}) satisfies z.ZodType<CallView>;

const StepDoc = z
  .object({
    step: z.int(),
    attempts: z.array(AttemptDoc),
    calls: z.array(CallDoc),
    approvals: z
      .array(DecidedDoc)
      .openapi({ description: "Asked for at a budget's limit, before the model call." }),
    notes: z.array(NoteDoc),
    costMicros: z.int(),
    recoveryMicros: z.int(),
  })
  .openapi("ExplainedStep") satisfies z.ZodType<StepView>;

export const ExplanationDoc = z
  .object({
    logId: z.string(),
    runId: z.string(),
    inputs: z.array(NoteDoc),
    pin: Place.extend({ definition: z.string(), manifest: AnyJson }).nullable(),
    steps: z.array(StepDoc),
    end: NoteDoc.nullable(),
    later: z.array(NoteDoc),
    erased: z.int(),
    next: z.int().nullable().openapi({ description: "`after` of the next steps." }),
  })
  .openapi("Explanation") satisfies z.ZodType<ExplanationView>;
