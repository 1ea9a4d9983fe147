/** A run as events, written past every rule of today: what a release may have stored that did not know them. */
import type { AnswerPart, PromptRefs, ThreadDraft, ThreadEvents } from "#kernel/events.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { COMPILER_VERSION } from "#kernel/prompt.ts";
import type { EventLog } from "#ports/event-log.ts";
import { NO_USAGE } from "./kernel-fixture.ts";

/** A call of a tool that answers nothing. */
export const TOUCH = {
  type: "call",
  callId: "call_stored",
  providerCallId: "c1",
  name: "touch",
  argsText: "{}",
  args: {},
  refusal: null,
} as const;
const SETTLEMENT = { costMicros: 0, tokens: 0, estimated: false };

export interface StoredTurn {
  readonly index: number;
  readonly text: string;
  readonly parts: readonly AnswerPart[];
  readonly definition: string | null;
}
/** A whole run: message, request, answer, the results of its calls, end. */
export function storeTurn(log: EventLog<ThreadEvents>, turn: StoredTurn): void {
  const at = Date.now();
  log.append(beginning(turn, log.head().seq + 1), { at });
  const { window } = log.fold(THREAD_FOLD).state;
  log.append(rest(turn, { base: null, drop: 0, add: window.map(({ ref }) => ref) }), { at });
}

function beginning({ index, text, definition }: StoredTurn, seq: number): readonly ThreadDraft[] {
  const scope = { run: `run_stored_${index}`, definition };
  const payload = {
    messageId: `msg_stored_${index}`,
    text,
    delivery: "queue",
    output: null,
  } as const;
  return [
    { type: "input.received", payload, scope },
    { type: "run.started", payload: { inputs: [seq] }, scope },
  ];
}

function rest({ index, parts, definition }: StoredTurn, refs: PromptRefs): readonly ThreadDraft[] {
  const scope = { run: `run_stored_${index}`, definition };
  const step = { ...scope, step: 1, attempt: 1 };
  const intent = `evt_stored_${index}`;
  const calls = parts.flatMap((part) => (part.type === "call" ? [part] : []));
  const verdicts = { policy: "allow", guardrail: "", loopGuard: "" };
  const reservation = { costMicros: 0, tokens: 0 };
  return [
    {
      type: "model.requested",
      id: intent,
      payload: {
        compiler: COMPILER_VERSION,
        refs,
        digest: "0".repeat(64),
        route: "test/a09-stored",
        settings: { maxOutputTokens: 1, temperature: null },
        steered: [],
        verdicts,
        reservation,
      },
      scope: step,
    },
    {
      type: "model.answered",
      payload: {
        parts,
        finish: calls.length > 0 ? "tool_calls" : "stop",
        rawFinish: null,
        usage: NO_USAGE,
        output: null,
        meta: {},
        settlement: SETTLEMENT,
      },
      scope: { ...step, cause: intent },
    },
    ...calls.flatMap(({ callId, name }): ThreadDraft[] => [
      {
        type: "tool.started",
        id: `${intent}_tool`,
        payload: {
          name,
          version: "1",
          args: {},
          effect: "read",
          idempotencyKey: `${intent}_tool`,
          mode: "execute",
          verdicts,
          reservation,
        },
        scope: { ...step, call: callId },
      },
      {
        type: "tool.finished",
        payload: {
          result: { status: "ok", code: null, output: "", bytes: 0, handle: null },
          settlement: SETTLEMENT,
        },
        scope: { ...step, call: callId, cause: `${intent}_tool` },
      },
    ]),
    {
      type: "run.completed",
      payload: { finish: "empty_output", text: "", output: null },
      scope,
    },
  ];
}
