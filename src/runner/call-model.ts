/**
 * One attempt of one model step, as a crossing of the gate.
 *
 * G5 an answer is recorded once and never asked for again. K11 the digest is of the prompt that is sent. G12 an attempt
 * that repeats one the process did not survive is marked `recovery`. Retries are decided by the kernel, never here (M1).
 */
import type { BudgetAsk } from "#kernel/amounts.ts";
import { readAnswer, type ContentPart } from "#kernel/answer.ts";
import { DEFAULT_APPROVAL_MS } from "#kernel/approvals.ts";
import type { CallModel } from "#kernel/effects.ts";
import type {
  Refusal,
  Settlement,
  ThreadDraft,
  ThreadEvent,
  ThreadEvents,
} from "#kernel/events.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import { COMPILER_VERSION, type CompiledPrompt } from "#kernel/prompt.ts";
import { retryAt } from "#kernel/retry.ts";
import { estimateTokens } from "#kernel/tokens.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { Model, ModelPart, Usage } from "#ports/model.ts";
import type { RoutePrice } from "#ports/prices.ts";
import type { Tool } from "#ports/tool.ts";
import { canonicalJson, utf8, type JsonObject } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { completeRun } from "./complete-run.ts";
import type { Admission, Crossing, DispatchContext, Outcome } from "./crossing.ts";
import type { BudgetRefused, GuardrailHook, ModelView } from "./gate-hooks.ts";
import { failure, readModelStream, type CollectedAnswer, type ModelEnd } from "./model-stream.ts";
import { checkOutput } from "./output-check.ts";
import { toCostScope, toSettlement, withOverrun } from "./pricing.ts";
import { isPinned } from "./tool-pin.ts";
import type { Timers } from "./timers.ts";

export interface ModelCallDeps {
  readonly view: ModelView;
  readonly intentId: string;
  readonly hasher: Hasher;
  readonly prompt: CompiledPrompt;
  readonly manifest: AgentManifest;
  /** Null: this deployment has none for the route. */
  readonly model: Model | null;
  readonly price: RoutePrice | null;
  readonly ids: Ids;
  readonly schemas: JsonSchemas;
  readonly tools: (name: string) => Tool | null;
  readonly timers: Timers;
  readonly idleMs: number;
  readonly now: () => number;
  readonly onText: (text: string) => void;
  readonly eventAt: (seq: number) => ThreadEvent;
}

type Answered = ThreadEvents["model.answered"];
type Failed = Extract<ModelEnd, { readonly type: "error" }>;

export class ModelCrossing implements Crossing {
  readonly unavailable = null;
  readonly #effect: CallModel;
  readonly #deps: ModelCallDeps;
  readonly #scope: EventScope;
  /** Set once it is dispatched. */
  #admission: Admission | null = null;

  constructor(effect: CallModel, deps: ModelCallDeps) {
    this.#effect = effect;
    this.#deps = deps;
    const { runId, step, attempt, definition } = effect;
    this.#scope = { run: runId, step, attempt, definition };
  }

  get intentId(): string {
    return this.#deps.intentId;
  }
  get view(): ModelView {
    return this.#deps.view;
  }

  /** Without its model call a run cannot go on, so a refusal ends it with what the hook said. */
  refuse(refusal: Refusal, budget: BudgetRefused | null): readonly ThreadDraft[] {
    const { runId, definition } = this.#effect;
    const cheaper = budget?.cheaper === true ? this.#cheaper(budget) : null;
    if (cheaper !== null) return [cheaper];
    if (budget?.ask !== undefined) return [this.#askForMore(budget.message, budget.ask)];
    if (refusal.code === "loop_guard") {
      const answerSeq = this.#deps.view.state.run?.lastTextSeq ?? null;
      return [
        completeRun(
          { type: "complete_run", runId, definition, finish: "loop_guard", answerSeq },
          this.#deps.eventAt,
        ),
      ];
    }
    const payload = {
      reason: budget?.cap ?? "model_rejected",
      message: `${refusal.code}: ${refusal.message}`,
      ...(budget?.budget === undefined ? {} : { budget: budget.budget }),
    } as const;
    return [{ type: "run.failed", payload, scope: { run: runId, definition } }];
  }

  /** The next route of the agent's fallbacks, if the run has not used them up (B49). */
  #cheaper({ budget }: BudgetRefused): ThreadDraft | null {
    const { runId, definition, route } = this.#effect;
    const { run } = this.#deps.view.state;
    const to = this.#deps.manifest.fallbacks?.[run?.fallback ?? 0];
    if (run === null || to === undefined || budget === undefined) return null;
    const payload = { from: route, to, budget };
    return { type: "route.changed", payload, scope: { run: runId, definition } };
  }

  /** The attempt's id becomes the approval's: nothing is dispatched under it (B55). */
  #askForMore(message: string, budget: BudgetAsk): ThreadDraft {
    const { hasher, intentId, now, prompt } = this.#deps;
    const { definition, runId, step } = this.#effect;
    const { amount, stop } = budget;
    const { budgetId, unit, period, limit } = stop;
    const of = { budgetId, unit, period, limit, window: budget.window, amount };
    const bound = { ...of, definition, run: runId, step };
    const payload = {
      kind: "budget",
      tool: stop.budgetId,
      version: "1",
      binding: hasher.sha256(utf8(canonicalJson(bound))),
      proposal: prompt.digest,
      args: null,
      question: `${message} Grant ${amount} ${stop.unit} more, once?`,
      answerSchema: null,
      expiresAt: now() + DEFAULT_APPROVAL_MS,
      budget,
    } as const;
    const scope = { run: runId, step, definition };
    return { type: "approval.requested", id: intentId, payload, scope };
  }

  /** A model is not asked for by a person's leave. */
  ask(): null {
    return null;
  }
  uncovered(): null {
    return null;
  }

  intent({ verdicts, reservation, leaseId }: Admission): ThreadDraft {
    const { refs, route, settings, steered } = this.#effect;
    const { digest } = this.#deps.prompt;
    return {
      type: "model.requested",
      id: this.#deps.intentId,
      payload: {
        compiler: COMPILER_VERSION,
        refs,
        digest,
        route,
        settings,
        steered,
        verdicts,
        reservation,
      },
      scope: { ...this.#scope, priceVersion: this.#deps.price?.version ?? null, leaseId },
    };
  }

  async dispatch(admission: Admission, context: DispatchContext): Promise<Outcome> {
    const { model, prompt, timers, idleMs, now, onText, intentId } = this.#deps;
    this.#admission = admission;
    const answer: CollectedAnswer =
      model === null
        ? {
            parts: [],
            end: failure("unavailable", `no model serves the route ${this.#effect.route}`, false),
          }
        : await readModelStream(model, {
            request: prompt.request,
            idempotencyKey: intentId,
            interrupt: context.interrupt,
            idleMs,
            timers,
            now,
            onText: context.guardrail.holdsLiveText ? () => undefined : onText,
          });
    await context.dispatched();
    if (answer.end.type === "error") return this.#failed(answer.parts, answer.end, model === null);
    return this.#answered(answer.parts, answer.end, context.guardrail);
  }

  async #answered(
    collected: readonly ModelPart[],
    end: Extract<ModelEnd, { readonly type: "finish" }>,
    guardrail: GuardrailHook,
  ): Promise<Outcome> {
    const { manifest, ids, schemas } = this.#deps;
    const screened = await this.#screen(collected.filter(isContent), guardrail);
    if (screened === null)
      return this.#failed([], toFailed("stream_error", "the answer could not be screened"), false);
    const { parts, finish, textCall } = readAnswer({
      parts: screened,
      finish: end.reason,
      usage: end.usage,
      settings: this.#effect.settings,
      manifest,
      mintedCallIds: screened.filter((part) => part.type === "call").map(() => ids.next("call")),
      parse: (name, args) => {
        const pin = manifest.tools.find((tool) => tool.name === name);
        const tool = this.#deps.tools(name);
        // A tool that is gone or changed parses nothing: the gate refuses the call as unavailable (T9).
        if (pin === undefined || tool === null || !isPinned(pin, tool))
          return ok(args as JsonObject);
        return tool.parse(args);
      },
    });
    const settlement = this.#settle(collected, end.usage);
    const payload: Answered = {
      parts,
      finish,
      rawFinish: end.raw,
      usage: end.usage,
      output: checkOutput(this.#effect.output, parts, schemas),
      // Where JSON was asked for, JSON that names a tool is an answer.
      ...(textCall === null || this.#effect.output !== null ? {} : { textCall }),
      meta: Object.assign(
        {},
        ...collected.map((part) => (part.type === "meta" ? part.meta : {})),
      ) as JsonObject,
      settlement,
    };
    return this.#outcome(
      { type: "model.answered", payload, scope: this.#outcomeScope(settlement) },
      settlement,
    );
  }

  #failed(collected: readonly ModelPart[], end: Failed, isUndispatched: boolean): Outcome {
    const { intentId, manifest, view } = this.#deps;
    const settlement = isUndispatched ? FREE : this.#settle(collected, end.usage);
    const failures = (view.state.run?.failures ?? 0) + 1;
    const { code, retryable, retryAfterMs } = end;
    const payload = {
      code,
      message: end.message.slice(0, 1_000),
      partial: collected.map((part) => (part.type === "text" ? part.text : "")).join(""),
      retryAt: retryAt(manifest.retry, code, {
        failures,
        retryable,
        retryAfterMs,
        intentId,
        now: this.#deps.now(),
      }),
      settlement,
    };
    return this.#outcome(
      { type: "model.failed", payload, scope: this.#outcomeScope(settlement) },
      settlement,
    );
  }

  /** Fails closed: null when a part could not be screened. */
  async #screen(
    parts: readonly ContentPart[],
    guardrail: GuardrailHook,
  ): Promise<readonly ContentPart[] | null> {
    try {
      const screened: ContentPart[] = [];
      for (const part of parts) {
        screened.push(
          part.type === "text"
            ? { type: "text", text: await guardrail.modelText(this.#deps.view, part.text) }
            : part,
        );
      }
      return screened;
    } catch {
      return null;
    }
  }

  #settle(collected: readonly ModelPart[], usage: Usage | null): Settlement {
    const output = collected.reduce((sum, part) => sum + estimateTokens(toOutputText(part)), 0);
    const estimate = { input: this.#effect.inputTokens, output };
    const { route, reservation } = this.#effect;
    return withOverrun(
      toSettlement(usage, { route, price: this.#deps.price, estimate }),
      this.#admission?.reservation ?? reservation,
    );
  }

  #outcomeScope(settlement: Settlement): EventScope {
    const { recovery } = this.#effect;
    const version = this.#deps.price?.version ?? null;
    return {
      ...this.#scope,
      cause: this.#deps.intentId,
      ...toCostScope(settlement, { recovery, version }),
      leaseId: this.#admission?.leaseId ?? null,
    };
  }

  #outcome(draft: ThreadDraft, settlement: Settlement): Outcome {
    return { drafts: [draft], settlement, changes: [], without: null, late: null };
  }
}

const FREE: Settlement = { costMicros: 0, tokens: 0, estimated: false };

function toFailed(code: Failed["code"], message: string): Failed {
  return { type: "error", code, message, retryable: true, retryAfterMs: null, usage: null };
}

function isContent(part: ModelPart): part is ContentPart {
  return part.type === "text" || part.type === "reasoning" || part.type === "call";
}

function toOutputText(part: ModelPart): string {
  if (part.type === "call") return `${part.name} ${part.argsText}`;
  return part.type === "text" || part.type === "reasoning" ? part.text : "";
}
