/** One step of a run as it is explained: its events sorted to model attempts, calls, approvals and the rest. */
import type {
  CallApprovalView,
  CallAttemptView,
  CallView,
  CostView,
  EventNote,
  EventPlace,
  ModelAttemptView,
  ModelOutcomeView,
  PromptView,
  StepView,
} from "#ports/audit-views.ts";
import type { ThreadEvent, ThreadEventType } from "#kernel/events.ts";
import type { Json } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import type { RebuildRefusal, RebuiltPrompt } from "./rebuild-prompt.ts";

type Of<T extends ThreadEventType> = Extract<ThreadEvent, { readonly type: T }>;
type Rebuild = (event: Of<"model.requested">) => Result<RebuiltPrompt, RebuildRefusal>;

export function toPlace({ header, hash }: ThreadEvent): EventPlace {
  return { seq: header.seq, hash, at: header.at };
}

export function toNote(event: ThreadEvent): EventNote {
  const { type, payload } = event;
  return { ...toPlace(event), type, payload: payload as Json, erased: payload === null };
}

function toCost({ header }: ThreadEvent): CostView {
  const { costMicros, costKind, priceVersion, leaseId } = header;
  const isUnknown = costMicros === null && costKind !== null;
  return { micros: isUnknown ? null : (costMicros ?? 0), kind: costKind, priceVersion, leaseId };
}

interface CallParts {
  readonly callId: string;
  name: string | null;
  readonly approvals: { id: string; view: CallApprovalView }[];
  readonly attempts: { id: string | null; view: CallAttemptView }[];
  refusal: CallView["refusal"];
}

export class StepBuilder {
  readonly #step: number;
  readonly #attempts: { id: string; view: ModelAttemptView }[] = [];
  readonly #calls = new Map<string, CallParts>();
  readonly #asked: CallParts["approvals"] = [];
  readonly #notes: EventNote[] = [];
  #costMicros = 0;
  #recoveryMicros = 0;

  constructor(step: number) {
    this.#step = step;
  }

  view(): StepView {
    return {
      step: this.#step,
      attempts: this.#attempts.map(({ view }) => view),
      calls: [...this.#calls.values()].map(({ callId, name, approvals, attempts, refusal }) => ({
        callId,
        name,
        approvals: approvals.map(({ view }) => view),
        attempts: attempts.map(({ view }) => view),
        refusal,
      })),
      approvals: this.#asked.map(({ view }) => view),
      notes: this.#notes,
      costMicros: this.#costMicros,
      recoveryMicros: this.#recoveryMicros,
    };
  }

  hasApproval(id: string | null): boolean {
    return this.#approvals().some((approval) => approval.id === id);
  }

  #approvals(): CallParts["approvals"] {
    return [...this.#asked, ...[...this.#calls.values()].flatMap(({ approvals }) => approvals)];
  }

  take(event: ThreadEvent, rebuild: Rebuild): void {
    const { costMicros, costKind } = event.header;
    this.#costMicros += costMicros ?? 0;
    if (costKind === "recovery") this.#recoveryMicros += costMicros ?? 0;
    switch (event.type) {
      case "model.requested":
        return this.#request(event, rebuild);
      case "model.answered":
      case "model.failed":
      case "model.interrupted":
        return this.#modelOutcome(event);
      case "approval.requested":
        return this.#approval(event);
      case "approval.decided":
      case "approval.refused":
        return this.#decision(event);
      case "tool.started":
        return this.#start(event);
      case "tool.finished":
      case "tool.interrupted":
      case "tool.late":
        return this.#toolOutcome(event);
      case "tool.refused":
        return this.#refusal(event);
      default:
        this.#notes.push(toNote(event));
    }
  }

  #request(event: Of<"model.requested">, rebuild: Rebuild): void {
    const { payload, header } = event;
    // Structural: it is never erased (kernel/erasure.ts).
    if (payload === null) return;
    const { route, settings, verdicts, reservation } = payload;
    const rebuilt = rebuild(event);
    const prompt: PromptView | null = rebuilt.ok
      ? {
          request: rebuilt.value.request,
          digest: rebuilt.value.digest,
          recorded: rebuilt.value.recorded,
          intact: rebuilt.value.intact,
        }
      : null;
    const view: ModelAttemptView = {
      ...toPlace(event),
      attempt: header.attempt ?? 1,
      definition: header.definition,
      route,
      settings,
      verdicts,
      reservation,
      prompt,
      promptMissing: rebuilt.ok ? null : rebuilt.error.reason,
      outcome: null,
    };
    this.#attempts.push({ id: header.id, view });
  }

  #modelOutcome(event: Of<"model.answered" | "model.failed" | "model.interrupted">): void {
    const attempt = this.#attempts.find(({ id }) => id === event.header.cause);
    if (attempt === undefined) return void this.#notes.push(toNote(event));
    const answered = event.type === "model.answered" ? event.payload : null;
    const failed = event.type === "model.failed" ? event.payload : null;
    const outcome: ModelOutcomeView = {
      ...toPlace(event),
      status: STATUS[event.type],
      erased: event.payload === null,
      parts: answered?.parts ?? [],
      finish: answered?.finish ?? null,
      usage: answered?.usage ?? null,
      code: failed?.code ?? null,
      message: failed?.message ?? null,
      cost: toCost(event),
    };
    attempt.view = { ...attempt.view, outcome };
    for (const part of outcome.parts)
      if (part.type === "call") this.#call(part.callId).name = part.name;
  }

  #approval(event: Of<"approval.requested">): void {
    const { header, payload } = event;
    const view: CallApprovalView = {
      approvalId: header.id,
      kind: payload?.kind ?? null,
      requested: toPlace(event),
      shown: toShown(payload),
      decided: null,
      decision: null,
      decidedBy: null,
      comment: null,
      answer: null,
      refused: [],
    };
    const approvals = header.call === null ? this.#asked : this.#call(header.call).approvals;
    approvals.push({ id: header.id, view });
  }

  #decision(event: Of<"approval.decided" | "approval.refused">): void {
    const approval = this.#approvals().find(({ id }) => id === event.header.cause);
    if (approval === undefined) return void this.#notes.push(toNote(event));
    const { actor: by } = event.header;
    if (event.type === "approval.refused") {
      const refused = [...approval.view.refused, { ...toPlace(event), by }];
      approval.view = { ...approval.view, refused };
      return;
    }
    const { decision = null, comment = null, answer = null } = event.payload ?? {};
    const decided = { decided: toPlace(event), decision, decidedBy: by, comment, answer };
    approval.view = { ...approval.view, ...decided };
  }

  #start(event: Of<"tool.started">): void {
    const { header, payload } = event;
    const call = this.#call(header.call ?? "");
    call.name ??= payload?.name ?? null;
    const view: CallAttemptView = {
      ...toPlace(event),
      attempt: header.attempt ?? 1,
      mode: payload?.mode ?? null,
      effect: payload?.effect ?? null,
      version: payload?.version ?? null,
      args: payload?.args ?? null,
      idempotencyKey: payload?.idempotencyKey ?? null,
      verdicts: payload?.verdicts ?? null,
      reservation: payload?.reservation ?? null,
      erased: payload === null,
      outcome: null,
    };
    call.attempts.push({ id: header.id, view });
  }

  #toolOutcome(event: Of<"tool.finished" | "tool.interrupted" | "tool.late">): void {
    const attempts = this.#call(event.header.call ?? "").attempts;
    const attempt = attempts.find(({ id }) => id === event.header.cause);
    // A late result does not take the place of the outcome that closed its call.
    if (attempt === undefined || attempt.view.outcome !== null)
      return void this.#notes.push(toNote(event));
    const outcome = {
      ...toPlace(event),
      status: TOOL_STATUS[event.type],
      result: event.type === "tool.interrupted" ? null : (event.payload?.result ?? null),
      erased: event.payload === null,
      cost: toCost(event),
    };
    attempt.view = { ...attempt.view, outcome };
  }

  #refusal(event: Of<"tool.refused">): void {
    const call = this.#call(event.header.call ?? "");
    call.name ??= event.payload?.name ?? null;
    call.refusal = { ...toPlace(event), refusal: event.payload?.refusal ?? null };
  }

  #call(callId: string): CallParts {
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    const made: CallParts = { callId, name: null, approvals: [], attempts: [], refusal: null };
    this.#calls.set(callId, made);
    return made;
  }
}

const STATUS = {
  "model.answered": "answered",
  "model.failed": "failed",
  "model.interrupted": "interrupted",
} as const;
const TOOL_STATUS = {
  "tool.finished": "finished",
  "tool.interrupted": "interrupted",
  "tool.late": "late",
} as const;

function toShown(payload: Of<"approval.requested">["payload"]): CallApprovalView["shown"] {
  if (payload?.budget !== undefined) return payload.budget as unknown as CallApprovalView["shown"];
  return payload?.kind === "question" ? payload.question : (payload?.args ?? null);
}
