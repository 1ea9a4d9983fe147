/** From an effect the kernel asks for to the crossing that performs it: everything it needs is read here, once. */
import type { CallModel, CallTool } from "#kernel/effects.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import { PromptCompiler } from "#kernel/prompt.ts";
import { pinOf } from "#kernel/state.ts";
import type { BudgetGrant } from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { ModelDirectory } from "#ports/model.ts";
import type { Prices } from "#ports/prices.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import type { HumanDecision, Tool } from "#ports/tool.ts";
import type { WorkspaceStore } from "#ports/workspace-store.ts";
import { invariant } from "#shared/exhaustive.ts";
import type { JsonObject } from "#shared/json.ts";
import { ModelCrossing } from "./call-model.ts";
import { ToolCrossing, type Grant } from "./call-tool.ts";
import type { Crossing } from "./crossing.ts";
import { isIntentOpen } from "./gate.ts";
import type { GateHooks } from "./gate-hooks.ts";
import type { Journal } from "./journal.ts";
import { DEFAULT_IDLE_MS } from "./model-stream.ts";
import type { StreamHub } from "./stream.ts";
import type { Timers } from "./timers.ts";

export interface EffectDeps {
  readonly hasher: Hasher;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly models: ModelDirectory;
  /** The agent's tools as registered now, by name. */
  readonly tools: (name: string) => Tool | null;
  readonly sandbox: Sandbox;
  readonly workspace: WorkspaceStore;
  readonly schemas: JsonSchemas;
  readonly hooks: GateHooks;
  readonly prices: Prices;
  /** Longest silence of a model stream. Default 60 s. */
  readonly idleMs?: number;
}

export class CrossingFactory {
  readonly #deps: EffectDeps;
  readonly #journal: Journal;
  readonly #hub: StreamHub;
  readonly #compiler: PromptCompiler;

  constructor(deps: EffectDeps, journal: Journal, hub: StreamHub) {
    this.#deps = deps;
    this.#journal = journal;
    this.#hub = hub;
    this.#compiler = new PromptCompiler(deps.hasher, (seq) => journal.eventAt(seq));
  }

  create(effect: CallModel | CallTool): Crossing {
    return effect.type === "call_model" ? this.#model(effect) : this.#tool(effect);
  }

  /** After an erasure: what is gone from the log must not be read from memory. */
  forget(): void {
    this.#compiler.clear();
  }

  #model(effect: CallModel): Crossing {
    const {
      models,
      prices,
      ids,
      schemas,
      tools,
      timers,
      clock,
      idleMs = DEFAULT_IDLE_MS,
    } = this.#deps;
    const manifest = this.#manifest(effect.definition);
    const { definition, output, window, route, runId, step, attempt, inputTokens, reservation } =
      effect;
    const prompt = this.#compiler.compile({ manifest, definition, output, window });
    const intentId = ids.next("evt");
    return new ModelCrossing(effect, {
      view: {
        kind: "model",
        runId,
        step,
        attempt,
        reservation,
        state: this.#journal.state,
        route,
        request: prompt.request,
        inputTokens,
        grant: this.#budgetGrant(effect),
      },
      hasher: this.#deps.hasher,
      intentId,
      prompt,
      manifest,
      model: models.resolve(route),
      price: prices.price(route),
      ids,
      schemas,
      tools,
      timers,
      idleMs,
      now: () => clock.now(),
      onText: (text) => this.#hub.delta(intentId, text),
      eventAt: (seq) => this.#journal.eventAt(seq),
    });
  }

  #tool(effect: CallTool): Crossing {
    const { ids, tools, sandbox, workspace, timers, clock } = this.#deps;
    const { runId, step, attempt, callId, mode, name } = effect;
    const pin = this.#manifest(effect.definition).tools.find((tool) => tool.name === name);
    invariant(pin !== undefined, "a call that is started is of a pinned tool");
    const { state } = this.#journal;
    const intentId = ids.next("evt");
    return new ToolCrossing(effect, {
      view: {
        kind: "tool",
        runId,
        step,
        attempt,
        reservation: FREE,
        state,
        callId,
        pin,
        args: this.#args(effect),
        mode,
        approval: this.#decision(effect),
      },
      hasher: this.#deps.hasher,
      proposal: this.#journal.eventAt(effect.answerSeq).hash,
      grant: this.#grant(effect),
      tool: tools(name),
      plan: state.plan,
      sandbox,
      workspace,
      timers,
      now: () => clock.now(),
      intentId,
      idempotencyKey: effect.idempotencyKey ?? intentId,
      report: (draft) => {
        if (this.#journal.closed === null && isIntentOpen(this.#journal.state, intentId))
          this.#journal.append(() => [draft]);
      },
    });
  }

  #args({ answerSeq, argsPart }: CallTool): JsonObject {
    const answer = this.#journal.eventAt(answerSeq);
    const part = answer.type === "model.answered" ? answer.payload?.parts[argsPart] : undefined;
    invariant(part?.type === "call" && part.args !== null, "a call that is started has arguments");
    return part.args;
  }

  /** What a person granted, by the event that showed it to them; nothing of it once that is erased. */
  #budgetGrant({ grant }: CallModel): BudgetGrant | null {
    if (grant === null) return null;
    const { payload } = this.#event(grant.requestedSeq, "approval.requested");
    const { header } = this.#event(grant.decidedSeq, "approval.decided");
    if (payload?.budget === undefined) return null;
    const { stop, window, amount } = payload.budget;
    const { budgetId, unit, period, limit } = stop;
    const { approvalId } = grant;
    return { approvalId, by: header.actor, budgetId, unit, period, limit, window, amount };
  }

  /** The decision under which the call runs, as it was recorded. */
  #decision({ approval }: CallTool): HumanDecision | null {
    if (approval === null) return null;
    const { header, payload } = this.#event(approval.decidedSeq, "approval.decided");
    const { approvalId } = approval;
    const { comment = null, answer = null } = payload ?? {};
    return { approvalId, by: header.actor, comment, answer };
  }

  #grant({ approval }: CallTool): Grant | null {
    if (approval === null) return null;
    const { payload } = this.#event(approval.requestedSeq, "approval.requested");
    return { binding: payload?.binding ?? null };
  }

  #event<T extends "approval.requested" | "approval.decided">(seq: number, type: T): EventOf<T> {
    const event = this.#journal.eventAt(seq);
    invariant(isOf(event, type), "an approval names its request and its decision");
    return event;
  }

  #manifest(definition: string): AgentManifest {
    const pin = pinOf(this.#journal.state, definition);
    invariant(pin !== null, "the live run's manifest is pinned");
    return pin.manifest;
  }
}

const FREE = { costMicros: 0, tokens: 0 };

type EventOf<T> = Extract<ThreadEvent, { readonly type: T }>;

function isOf<T extends ThreadEvent["type"]>(event: ThreadEvent, type: T): event is EventOf<T> {
  return event.type === type;
}
