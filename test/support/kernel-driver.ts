/**
 * KernelDriver: performs what the kernel asks for against an array of events, with outcomes chosen by a test.
 *
 * It plays log and runner and nothing else: intents are appended before work starts, work in flight is kept apart, a
 * crash raises the epoch and leaves intents open, and late work meets the checks of a gate (G10).
 */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { ModelErrorCode, OutputSpec, PromptMessage } from "#ports/model.ts";
import type { PlanItem } from "#ports/tool.ts";
import type { Receipt, Rejection, ThreadCommand } from "#kernel/commands.ts";
import { decide } from "#kernel/decide.ts";
import type { CallModel, CallTool, Effect } from "#kernel/effects.ts";
import type {
  AnswerPart,
  Delivery,
  OutputCheck,
  Refusal,
  ThreadDraft,
  ThreadEvent,
} from "#kernel/events.ts";
import type { ToolStatus } from "#kernel/tool-result.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import { nextEffects } from "#kernel/next-effects.ts";
import { COMPILER_VERSION, PromptCompiler } from "#kernel/prompt.ts";
import { pinOf, type ThreadState } from "#kernel/state.ts";
import type { Result } from "#shared/result.ts";
import { MANIFEST, NO_USAGE, toEvent } from "./kernel-fixture.ts";

export const nodeHasher = new NodeHasher();

export interface CallSpec {
  readonly name: string;
  readonly refusal?: Refusal;
  readonly argsText?: string;
}
export interface AnswerSpec {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly CallSpec[];
  readonly finish?: "stop" | "length" | "tool_calls" | "content_filter" | "other";
  readonly output?: OutputCheck | null;
  readonly textCall?: string;
  /** Instead of text, reasoning and calls: what `readAnswer` made of an answer. */
  readonly parts?: readonly AnswerPart[];
  readonly costMicros?: number;
  readonly tokens?: number;
}

export interface Flight {
  readonly effect: CallModel | CallTool;
  readonly intentId: string;
  readonly epoch: number;
}

export class KernelDriver {
  readonly manifest: AgentManifest;
  readonly definition: string;
  events: ThreadEvent[] = [];
  state: ThreadState = THREAD_FOLD.initial();
  epoch = 1;
  now = 1_000;
  flights: Flight[] = [];
  /** Work that a crash or a cancellation left behind: it may still report. */
  zombies: Flight[] = [];
  readonly prompts: { readonly seq: number; readonly messages: readonly PromptMessage[] }[] = [];
  /** Seen before each append; throws to fail a test. */
  watch: (driver: KernelDriver) => void = () => undefined;
  #ids = 0;
  #compiler = new PromptCompiler(nodeHasher, (seq) => this.events[seq - 1] ?? null);

  constructor(manifest: Partial<AgentManifest> = {}, definition = "def1") {
    this.manifest = { ...MANIFEST, ...manifest };
    this.definition = definition;
  }

  mint(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#ids}`;
  }

  append(drafts: readonly ThreadDraft[]): void {
    for (const draft of drafts) {
      const event = toEvent(draft, {
        seq: this.events.length + 1,
        at: this.now,
        epoch: this.epoch,
        id: draft.id ?? this.mint("evt"),
      });
      this.state = THREAD_FOLD.evolve(this.state, event);
      this.events.push(event);
    }
    this.watch(this);
  }

  command(command: ThreadCommand): Result<Omit<Receipt, "seq">, Rejection> {
    const decided = decide(this.state, command, {
      actor: "u1",
      idempotencyKey: null,
      bodyDigest: "d",
    });
    if (!decided.ok) return decided;
    this.append(decided.value.drafts);
    this.#dropStaleFlights();
    return { ok: true, value: decided.value.receipt };
  }

  create(): this {
    this.command({ type: "create_thread", owner: "u1", title: null });
    return this;
  }

  send(
    text: string,
    options: {
      delivery?: Delivery;
      messageId?: string;
      output?: OutputSpec | null;
      separate?: boolean;
      history?: string;
    } = {},
  ): Result<Omit<Receipt, "seq">, Rejection> {
    return this.command({
      type: "send_message",
      messageId: options.messageId ?? this.mint("msg"),
      runId: this.mint("run"),
      text,
      delivery: options.delivery ?? "queue",
      output: options.output ?? null,
      manifest: this.manifest,
      definition: this.definition,
      separate: options.separate ?? false,
      history: options.history ?? null,
    });
  }

  cancel(runId: string): Result<Omit<Receipt, "seq">, Rejection> {
    return this.command({ type: "cancel_run", runId, reason: "enough" });
  }

  effects(): readonly Effect[] {
    return nextEffects(this.state, { now: this.now, epoch: this.epoch });
  }

  /** Records what can be recorded and starts what can be started; false when there was nothing to do. */
  pump(): boolean {
    const [first, ...rest] = this.effects();
    if (first === undefined) return false;
    switch (first.type) {
      case "record":
        this.append(first.drafts);
        return true;
      case "wait_until":
        this.now = first.at;
        return true;
      case "complete_run":
        this.append([
          {
            type: "run.completed",
            payload: { finish: first.finish, text: "", output: null },
            scope: { run: first.runId, definition: first.definition },
          },
        ]);
        return true;
      case "call_model":
        this.#openModel(first);
        return true;
      case "call_tool":
        for (const effect of [first, ...rest])
          if (effect.type === "call_tool") this.#openTool(effect);
        return true;
    }
  }

  /** Until something is in flight, or the thread is idle. */
  pumpAll(): void {
    for (let i = 0; i < 10_000; i += 1) if (!this.pump()) return;
    throw new Error("the kernel never comes to rest");
  }

  crash(): void {
    this.zombies.push(...this.flights);
    this.flights = [];
    this.epoch += 1;
    this.state = THREAD_FOLD.restore(structuredClone(THREAD_FOLD.dump(this.state)));
    this.#compiler.clear();
  }

  answer(spec: AnswerSpec): void {
    const flight = this.#take("call_model");
    const calls = spec.calls ?? [];
    const parts: AnswerPart[] = [...(spec.parts ?? [])];
    if (spec.reasoning !== undefined)
      parts.push({ type: "reasoning", text: spec.reasoning, meta: null });
    if (spec.text !== undefined) parts.push({ type: "text", text: spec.text });
    for (const call of calls) {
      const refusal = call.refusal ?? null;
      parts.push({
        type: "call",
        callId: this.mint("call"),
        providerCallId: "",
        name: call.name,
        argsText: call.argsText ?? "{}",
        args: refusal === null ? {} : null,
        refusal,
      });
    }
    this.append([
      {
        type: "model.answered",
        payload: {
          parts,
          finish: spec.finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
          rawFinish: null,
          usage: NO_USAGE,
          output: spec.output ?? null,
          ...(spec.textCall === undefined ? {} : { textCall: spec.textCall }),
          meta: {},
          settlement: {
            costMicros: spec.costMicros ?? 1,
            tokens: spec.tokens ?? 10,
            estimated: false,
          },
        },
        scope: this.#outcomeScope(flight),
      },
    ]);
  }

  failModel(code: ModelErrorCode, retryAt: number | null): void {
    const flight = this.#take("call_model");
    const settlement = { costMicros: 0, tokens: 0, estimated: false };
    this.append([
      {
        type: "model.failed",
        payload: { code, message: "no", partial: "", retryAt, settlement },
        scope: this.#outcomeScope(flight),
      },
    ]);
  }

  finishTool(
    options: {
      callId?: string;
      output?: string;
      status?: ToolStatus;
      plan?: readonly PlanItem[];
    } = {},
  ): void {
    const flight = this.#take("call_tool", options.callId);
    const scope = this.#outcomeScope(flight);
    const output = options.output ?? "fine";
    const result = {
      status: options.status ?? "ok",
      code: null,
      output,
      bytes: output.length,
      handle: null,
    };
    const drafts: ThreadDraft[] = [
      {
        type: "tool.finished",
        payload: { result, settlement: { costMicros: 0, tokens: 0, estimated: false } },
        scope,
      },
    ];
    if (options.plan !== undefined)
      drafts.push({ type: "plan.updated", payload: { items: options.plan }, scope });
    this.append(drafts);
  }

  /** Work of an older life reports: closed intents and old epochs write no outcome (G10). */
  deliverZombie(index: number): void {
    const zombie = this.zombies.splice(index, 1)[0];
    if (zombie === undefined || zombie.effect.type !== "call_tool") return;
    const { runId, step, callId } = zombie.effect;
    const result = { status: "ok", code: null, output: "late", bytes: 4, handle: null } as const;
    this.append([
      {
        type: "tool.late",
        payload: { result },
        scope: { run: runId, step, call: callId, cause: zombie.intentId },
      },
    ]);
  }

  flightOf(type: "call_model" | "call_tool"): Flight | undefined {
    return this.flights.find((flight) => flight.effect.type === type);
  }

  types(): readonly string[] {
    return this.events.map((event) => event.type);
  }

  last<T extends ThreadEvent["type"]>(type: T): Extract<ThreadEvent, { type: T }> {
    const found = this.events.findLast(
      (event): event is Extract<ThreadEvent, { type: T }> => event.type === type,
    );
    if (found === undefined) throw new Error(`no ${type} in the log`);
    return found;
  }

  #take(type: "call_model" | "call_tool", callId?: string): Flight {
    const index = this.flights.findIndex(
      ({ effect }) =>
        effect.type === type &&
        (callId === undefined || (effect.type === "call_tool" && effect.callId === callId)),
    );
    const flight = this.flights.splice(index, index < 0 ? 0 : 1)[0];
    if (flight === undefined) throw new Error(`no ${type} is in flight`);
    return flight;
  }

  #openModel(effect: CallModel): void {
    const pin = pinOf(this.state, effect.definition);
    if (pin === null) throw new Error("a run has a pin");
    const compiled = this.#compiler.compile({
      ...pin,
      output: effect.output,
      window: effect.window,
    });
    const intentId = this.mint("evt");
    this.append([
      {
        type: "model.requested",
        id: intentId,
        payload: {
          compiler: COMPILER_VERSION,
          refs: effect.refs,
          digest: compiled.digest,
          route: effect.route,
          settings: effect.settings,
          steered: effect.steered,
          verdicts: { policy: "", guardrail: "", loopGuard: "" },
          reservation: effect.reservation,
        },
        scope: {
          run: effect.runId,
          definition: effect.definition,
          step: effect.step,
          attempt: effect.attempt,
        },
      },
    ]);
    this.prompts.push({ seq: this.events.length, messages: compiled.request.messages });
    this.flights.push({ effect, intentId, epoch: this.epoch });
  }

  #openTool(effect: CallTool): void {
    const intentId = this.mint("evt");
    const pin = this.manifest.tools.find((tool) => tool.name === effect.name);
    if (pin === undefined) throw new Error(`${effect.name} is not a tool`);
    this.append([
      {
        type: "tool.started",
        id: intentId,
        payload: {
          name: effect.name,
          version: "1",
          args: {},
          effect: pin.effect,
          idempotencyKey: effect.idempotencyKey ?? intentId,
          mode: effect.mode,
          verdicts: { policy: "", guardrail: "", loopGuard: "" },
          reservation: { costMicros: 0, tokens: 0 },
        },
        scope: {
          run: effect.runId,
          definition: effect.definition,
          step: effect.step,
          call: effect.callId,
          attempt: effect.attempt,
        },
      },
    ]);
    this.flights.push({ effect, intentId, epoch: this.epoch });
  }

  #outcomeScope({ effect, intentId }: Flight): EventScope {
    const scope = {
      run: effect.runId,
      definition: effect.definition,
      step: effect.step,
      attempt: effect.attempt,
      cause: intentId,
    };
    return effect.type === "call_tool" ? { ...scope, call: effect.callId } : scope;
  }

  #dropStaleFlights(): void {
    const isLive = ({ effect }: Flight): boolean => this.state.run?.runId === effect.runId;
    this.zombies.push(...this.flights.filter((flight) => !isLive(flight)));
    this.flights = this.flights.filter(isLive);
  }
}
