/** Documents of budgets and leases; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import type { BudgetView, LeaseView, WriteOffView } from "#ports/budget-ledger.ts";
import { AgentNameParam, Millis, ThreadIdText } from "./wire.ts";
import { isPrincipalId } from "#shared/ids.ts";

const ID_RULE = "1 to 48 of a-z, 0-9 and -, not starting with -";
const BudgetId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,47}$/, { error: ID_RULE })
  .openapi({ description: ID_RULE, example: "team-month" });
export const BudgetParams = z.object({ budget: BudgetId });

const Count = z.int().min(0).max(1_000_000_000_000_000);
const Unit = z.enum(["costMicros", "tokens", "steps", "wallMs"]).openapi({
  description:
    "Micro-dollars; tokens in and out; model calls made; milliseconds that model calls took.",
});
const Scope = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("tenant") }),
  z.strictObject({ kind: z.literal("agent"), agent: AgentNameParam }),
  z.strictObject({ kind: z.literal("user"), user: z.string().refine(isPrincipalId) }),
  z.strictObject({ kind: z.literal("thread"), agent: AgentNameParam, thread: ThreadIdText }),
]);

export const BudgetBody = z
  .strictObject({
    scope: Scope,
    period: z.enum(["day", "month", "total"]).openapi({ description: "UTC." }),
    unit: Unit,
    limit: Count,
    warnAtPercent: z
      .array(z.int().min(1).max(100))
      .max(10)
      .default([80])
      .openapi({ description: "Of the limit. Each is recorded once a window." }),
    atLimit: z.enum(["stop", "cheaper", "ask"]).default("stop").openapi({
      description:
        "`cheaper`: the run goes on with the next of its agent's fallbacks, if any. `ask`: it waits for a person with the scope `operate`, who may grant more.",
    }),
  })
  .openapi("PutBudget");

export const BudgetDoc = z
  .object({
    budgetId: z.string(),
    scope: Scope,
    period: z.enum(["day", "month", "total"]),
    unit: Unit,
    limit: Count,
    warnAtPercent: z.array(z.int()),
    atLimit: z.enum(["stop", "cheaper", "ask"]),
    window: z.object({ key: z.string(), from: Millis, resetsAt: Millis.nullable() }),
    spent: z.int(),
    raised: z
      .int()
      .openapi({ description: "Granted by people on top of the limit, for this window." }),
    leased: z.int().openapi({ description: "Blocked by leases that are open." }),
    left: z.int(),
    status: z.enum(["ok", "warned", "exhausted", "stopped"]).openapi({
      description:
        "`stopped`: a call used more than it had reserved. Put the budget again to go on.",
    }),
    warnings: z.array(z.object({ percent: z.int(), at: Millis })),
  })
  .openapi("Budget") satisfies z.ZodType<BudgetView>;
export const BudgetListDoc = z.object({ items: z.array(BudgetDoc) }).openapi("BudgetList");

const Amounts = z.object({
  costMicros: z.int(),
  tokens: z.int(),
  steps: z.int(),
  wallMs: z.int(),
});
export const LeaseDoc = z
  .object({
    leaseId: z.string(),
    agent: z.string(),
    thread: z.string(),
    run: z.string(),
    user: z.string().nullable(),
    grantedAt: Millis,
    heardAt: Millis,
    ageMs: z.int(),
    until: Millis,
    granted: Amounts,
    settled: Amounts,
    blocked: Amounts,
    unreachable: z.boolean().openapi({
      description: "Its thread gave no answer when asked: the amount stays blocked.",
    }),
  })
  .openapi("Lease") satisfies z.ZodType<Omit<LeaseView, "agent" | "thread">>;
export const LeaseParams = z.object({
  lease: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/),
});
export const WriteOffBody = z
  .strictObject({
    as: z.enum(["spent", "released"]).openapi({
      description:
        "What becomes of the blocked amount. `spent` is safe: its holder may have spent it. `released` gives it to others, on your word that it did not.",
    }),
    reason: z
      .string()
      .max(500)
      .refine((text) => text.trim() !== "", { error: "must not be blank" }),
  })
  .openapi("WriteOff");
export const WriteOffDoc = z
  .object({
    leaseId: z.string(),
    as: z.enum(["spent", "released"]),
    reason: z.string(),
    blocked: Amounts.openapi({ description: "What was blocked." }),
    settled: Amounts.openapi({ description: "What the lease counts as now." }),
  })
  .openapi("WrittenOff") satisfies z.ZodType<WriteOffView>;
export const LeaseListDoc = z.object({ items: z.array(LeaseDoc) }).openapi("LeaseList");
