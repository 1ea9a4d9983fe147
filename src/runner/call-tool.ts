/**
 * One attempt of one tool call, as a crossing of the gate.
 *
 * T2 the tool sees the arguments that were recorded. T5 a throw or a timeout is an error result. T6 staged file changes
 * and the plan commit with the outcome. A1 A2 what needs a person is asked with what would run, and runs as it was asked. T9 a tool that is gone, or differs from the run's pin, is never run.
 * The timeout ends the waiting, not the tool: what a deaf tool answers later is dropped, its signal was aborted.
 */
import { DEFAULT_APPROVAL_MS } from "#kernel/approvals.ts";
import type { CallTool } from "#kernel/effects.ts";
import type { Refusal, Settlement, ThreadDraft, ToolResult } from "#kernel/events.ts";
import type { ToolPin } from "#kernel/manifest.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import { ToolContent } from "#ports/content.ts";
import type { PlanItem, Tool, ToolContext, ToolReport } from "#ports/tool.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import type { WorkspaceStore } from "#ports/workspace-store.ts";
import type { WorkspaceSession } from "#ports/workspace.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { bindingOf } from "./approval-binding.ts";
import type { Admission, Crossing, DispatchContext, Outcome } from "./crossing.ts";
import type { GuardrailHook, ToolView } from "./gate-hooks.ts";
import type { Interrupt } from "./interrupt.ts";
import type { Timers } from "./timers.ts";
import { isPinned } from "./tool-pin.ts";
import {
  toErrorCode,
  toErrorMessage,
  toErrorResult,
  toResultText,
  toToolResult,
  toUnknownResult,
  withParts,
  type ResultLimits,
} from "./tool-result.ts";

/** What a person was asked and shown, read from the log. */
export interface Grant {
  /** Null once erased: then it covers nothing. */
  readonly binding: string | null;
}
export interface ToolCallDeps {
  readonly view: ToolView;
  /** As registered now; null when there is none of this name. */
  readonly tool: Tool | null;
  readonly plan: readonly PlanItem[];
  readonly sandbox: Sandbox;
  readonly workspace: WorkspaceStore;
  readonly timers: Timers;
  readonly now: () => number;
  readonly intentId: string;
  readonly hasher: Hasher;
  /** Hash of the answer that made this call. */
  readonly proposal: string;
  /** Null where nobody was asked. */
  readonly grant: Grant | null;
  /** Of the first attempt, or minted now. */
  readonly idempotencyKey: string;
  /** Records what the call says of itself, as long as it is under way. */
  readonly report: (draft: ThreadDraft) => void;
}

type Ran =
  | { readonly type: "value"; readonly value: Json | ToolContent }
  | { readonly type: "not_happened" }
  | { readonly type: "failed"; readonly code: string; readonly message: string };

type Settled = Exclude<Ran, { readonly type: "not_happened" }>;

/** A call that reports for ever does not fill a log. */
const MAX_REPORTS = 100;
const WITHHELD = "The result was withheld: it could not be screened.";
const FREE: Settlement = { costMicros: 0, tokens: 0, estimated: false };

export class ToolCrossing implements Crossing {
  readonly #effect: CallTool;
  readonly #deps: ToolCallDeps;
  readonly #scope: EventScope;

  constructor(effect: CallTool, deps: ToolCallDeps) {
    this.#effect = effect;
    this.#deps = deps;
    const { runId, step, callId, attempt, definition } = effect;
    this.#scope = { run: runId, step, call: callId, attempt, definition };
  }

  get intentId(): string {
    return this.#deps.intentId;
  }
  get view(): ToolView {
    return this.#deps.view;
  }
  get unavailable(): Refusal | null {
    return toUnavailable(this.#deps.view.pin, this.#deps.tool);
  }

  refuse(refusal: Refusal): readonly ThreadDraft[] {
    return [
      { type: "tool.refused", payload: { name: this.#effect.name, refusal }, scope: this.#scope },
    ];
  }

  /** The attempt's id becomes the approval's: nothing is dispatched under it. */
  ask(args: JsonObject | null): readonly ThreadDraft[] | null {
    const { view, tool, now, intentId, proposal } = this.#deps;
    const shown = args ?? view.args;
    const binding = this.#binding(shown);
    if (binding === null) return null;
    const { name, version, limits } = view.pin;
    const question = view.pin.approval === "question" ? (tool?.question?.(shown) ?? null) : null;
    const payload = {
      kind: question === null ? "tool" : "question",
      tool: name,
      version,
      binding,
      proposal,
      args: question === null ? shown : null,
      question: question?.text ?? null,
      answerSchema: question?.answerSchema ?? null,
      ...(question?.client === undefined ? {} : { client: question.client }),
      expiresAt: now() + (limits.approvalTimeoutMs ?? DEFAULT_APPROVAL_MS),
    } as const;
    const { attempt: _, ...scope } = this.#scope;
    return [{ type: "approval.requested", id: intentId, payload, scope }];
  }

  uncovered(args: JsonObject | null): Refusal | null {
    const { grant, view } = this.#deps;
    if (grant === null || grant.binding === this.#binding(args ?? view.args)) return null;
    const message = `What would run now is not what was approved: ${view.pin.name} or its arguments have changed since. The call was not executed.`;
    return { code: "tool_unavailable", message };
  }

  #binding(args: JsonObject): string | null {
    const { tool, hasher } = this.#deps;
    const { definition } = this.#effect;
    return tool === null ? null : bindingOf({ tool, args, definition }, hasher);
  }

  intent({ verdicts, reservation, args }: Admission): ThreadDraft {
    const { view, idempotencyKey, intentId } = this.#deps;
    const { name, version, effect } = view.pin;
    return {
      type: "tool.started",
      id: intentId,
      payload: {
        name,
        version,
        args: args ?? view.args,
        effect,
        idempotencyKey,
        mode: this.#effect.mode,
        verdicts,
        reservation,
      },
      scope: this.#scope,
    };
  }

  async dispatch({ args }: Admission, context: DispatchContext): Promise<Outcome> {
    const { view, tool, workspace } = this.#deps;
    const session = workspace.session();
    const staged: { plan: readonly PlanItem[] | null } = { plan: null };
    const ran = await this.#run(tool, args ?? view.args, {
      session,
      staged,
      interrupt: context.interrupt,
    });
    await context.dispatched();
    if (ran.type === "not_happened") return this.#notHappened();
    const limits: ResultLimits = {
      callId: view.callId,
      maxResultBytes: view.pin.limits.maxResultBytes,
      files: session,
    };
    const shown = await this.#screen(ran, context.guardrail);
    const result = this.#toResult(ran, shown, limits);
    const failed = result.status !== "ok";
    return {
      drafts: this.#outcome(result, failed ? null : staged.plan),
      settlement: FREE,
      changes: failed ? [] : session.changes(),
      without: (error) =>
        this.#outcome(toErrorResult(toErrorCode(error), toErrorMessage(error), limits), null),
      // Giving up because it was told to says nothing about what had happened by then.
      late:
        ran.type === "failed" && context.interrupt.cancelled
          ? null
          : this.#toLate(ran, shown, { limits, result }),
    };
  }

  async #run(
    tool: Tool | null,
    args: JsonObject,
    run: {
      session: WorkspaceSession;
      staged: { plan: readonly PlanItem[] | null };
      interrupt: Interrupt;
    },
  ): Promise<Ran> {
    if (tool === null)
      return { type: "failed", code: "tool_unavailable", message: "The tool is gone." };
    const { timeoutMs } = this.#deps.view.pin.limits;
    const { interrupt } = run;
    const stop = this.#deps.timers.after(timeoutMs, () =>
      interrupt.expire(`no result within ${timeoutMs} ms`),
    );
    try {
      // A cancelled run does not wait, but its late result is recorded, so only the deadline ends the waiting here.
      return await interrupt.untilExpired(() => this.#invoke(tool, args, this.#context(run)));
    } catch (error) {
      const timedOut = interrupt.expired;
      return {
        type: "failed",
        code: timedOut ? "tool_timeout" : toErrorCode(error),
        message: timedOut ? timeoutMessage(this.#deps.view.pin) : toErrorMessage(error),
      };
    } finally {
      stop();
    }
  }

  async #invoke(tool: Tool, args: JsonObject, context: ToolContext): Promise<Ran> {
    if (this.#effect.mode === "execute")
      return { type: "value", value: await tool.execute(args, context) };
    if (tool.check === undefined)
      throw new Error("The tool cannot say whether the first attempt happened.");
    const checked = await tool.check(context.idempotencyKey, args, context);
    return checked.happened ? { type: "value", value: checked.result } : { type: "not_happened" };
  }

  #context(run: {
    session: WorkspaceSession;
    staged: { plan: readonly PlanItem[] | null };
    interrupt: Interrupt;
  }): ToolContext {
    const { idempotencyKey, view, plan, sandbox, now, report } = this.#deps;
    let reports = 0;
    return {
      idempotencyKey,
      attempt: view.attempt,
      get signal() {
        return run.interrupt.signal;
      },
      now: now(),
      files: run.session,
      sandbox,
      plan,
      approval: view.approval,
      setPlan: (items) => {
        run.staged.plan = items;
      },
      report: (payload) => {
        reports += 1;
        if (reports > MAX_REPORTS || run.interrupt.signal.aborted) return;
        const scope = { ...this.#scope, cause: this.#deps.intentId };
        report({ type: "tool.reported", payload: toWellFormedReport(payload), scope });
      },
    };
  }

  /** Null withholds: what could not be screened is not shown. */
  async #screen(ran: Settled, guardrail: GuardrailHook): Promise<string | null> {
    const text = ran.type === "value" ? toShownText(ran.value) : ran.message;
    try {
      return await guardrail.toolOutput(this.#deps.view, text);
    } catch {
      return null;
    }
  }

  #toResult(ran: Settled, shown: string | null, limits: ResultLimits): ToolResult {
    if (shown === null) return toErrorResult("denied_by_policy", WITHHELD, limits);
    if (ran.type === "value") {
      const result = toToolResult(shown.toWellFormed(), limits);
      return ran.value instanceof ToolContent ? withParts(result, ran.value, shown) : result;
    }
    return this.#effect.mode === "check"
      ? toUnknownResult(shown, limits)
      : toErrorResult(ran.code, shown, limits);
  }

  /** Keeps no file: the workspace of a run that has ended takes nothing. */
  #toLate(
    ran: Settled,
    shown: string | null,
    { limits, result }: { readonly limits: ResultLimits; readonly result: ToolResult },
  ): ToolResult {
    return result.handle === null ? result : this.#toResult(ran, shown, { ...limits, files: null });
  }

  #outcome(result: ToolResult, plan: readonly PlanItem[] | null): readonly ThreadDraft[] {
    const finished: ThreadDraft = {
      type: "tool.finished",
      payload: { result, settlement: FREE },
      scope: { ...this.#scope, cause: this.#deps.intentId },
    };
    return plan === null
      ? [finished]
      : [finished, { type: "plan.updated", payload: { items: plan }, scope: this.#scope }];
  }

  /** The check's own outcome: the call is free to run. */
  #notHappened(): Outcome {
    const drafts: readonly ThreadDraft[] = [
      {
        type: "tool.interrupted",
        payload: { next: "rerun" },
        scope: { ...this.#scope, cause: this.#deps.intentId },
      },
    ];
    return { drafts, settlement: FREE, changes: [], without: null, late: null };
  }
}

function toShownText(value: Json | ToolContent): string {
  return value instanceof ToolContent ? value.toText() : toResultText(value);
}

function toWellFormedReport(report: ToolReport): ToolReport {
  // What goes into the log is JSON whatever the tool's code passed.
  return JSON.parse(JSON.stringify(report)) as ToolReport;
}

function timeoutMessage({ effect, limits }: ToolPin): string {
  const message = `The tool gave no result within ${limits.timeoutMs} ms.`;
  return effect === "read" ? message : `${message} It may have taken effect all the same.`;
}

function toUnavailable(pin: ToolPin, tool: Tool | null): Refusal | null {
  if (tool === null) {
    return {
      code: "tool_unavailable",
      message: `The tool ${pin.name} is no longer part of this agent. Continue without it.`,
    };
  }
  if (isPinned(pin, tool)) return null;
  const message = `The tool ${pin.name} has changed since this run began (${pin.version} then, ${tool.version} now). Continue without it.`;
  return { code: "tool_unavailable", message };
}
