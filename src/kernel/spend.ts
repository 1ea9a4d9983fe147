/**
 * Spend: what one event of a thread adds to the rollup (B27, B28). Pure, so that a rollup is the same whether it was
 * delivered event by event or computed again from the log.
 *
 * Money comes from headers, which no erasure touches; tokens, route and tool from payloads, so an event that was erased
 * before it was counted has none.
 */
import type { BookedCost, CostKind, Settlement, ThreadEvent, ThreadEventType } from "./events.ts";
import type { TokenUsage } from "./token-usage.ts";
import { toDay } from "./utc-day.ts";

/** The events that may add something. */
export const SPEND_EVENTS = [
  "model.answered",
  "model.failed",
  "model.interrupted",
  "usage.corrected",
  "tool.started",
  "tool.finished",
] as const satisfies readonly ThreadEventType[];

/** What is counted. All integers; a correction may make them negative. */
export interface SpendCounts {
  /** Model attempts and started tool calls. */
  readonly calls: number;
  /** Those among them whose price nobody knew. */
  readonly unpriced: number;
  readonly micros: number;
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly audioInput: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOutput: number;
}
/** What it is counted under, inside one thread. */
export interface SpendKey {
  /** UTC, `2026-11-30`. */
  readonly day: string;
  /** Of a model call; empty otherwise. */
  readonly route: string;
  /** Of a tool call; empty otherwise. */
  readonly tool: string;
  readonly kind: CostKind;
}
export interface SpendEntry extends SpendKey, SpendCounts {}

export const NO_SPEND: SpendCounts = {
  calls: 0,
  unpriced: 0,
  micros: 0,
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  audioInput: 0,
  output: 0,
  reasoning: 0,
  audioOutput: 0,
};

/** The entries of some events of one thread, one a key, in the order of their keys. */
export function rollUp(events: Iterable<ThreadEvent>): readonly SpendEntry[] {
  const rows = new Map<string, SpendEntry>();
  for (const event of events) {
    for (const entry of spendOf(event)) {
      const id = toSpendId(entry);
      const known = rows.get(id);
      rows.set(id, known === undefined ? entry : { ...known, ...addCounts(known, entry) });
    }
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

export function toSpendId({ day, route, tool, kind }: SpendKey): string {
  return JSON.stringify([day, route, tool, kind]);
}

export function addCounts(a: SpendCounts, b: SpendCounts): SpendCounts {
  return {
    calls: a.calls + b.calls,
    unpriced: a.unpriced + b.unpriced,
    micros: a.micros + b.micros,
    input: a.input + b.input,
    cachedInput: a.cachedInput + b.cachedInput,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    audioInput: a.audioInput + b.audioInput,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    audioOutput: a.audioOutput + b.audioOutput,
  };
}

export function spendOf(event: ThreadEvent): readonly SpendEntry[] {
  const { header, type, payload } = event;
  const key = { day: toDay(header.at), route: "", tool: "", kind: header.costKind ?? "normal" };
  switch (type) {
    case "model.answered":
    case "model.failed":
    case "model.interrupted":
      return [
        {
          ...key,
          route: payload?.settlement.route ?? "",
          ...NO_SPEND,
          ...toTokens(payload?.settlement ?? null),
          calls: 1,
          unpriced: header.costMicros === null ? 1 : 0,
          micros: header.costMicros ?? 0,
        },
      ];
    case "usage.corrected":
      return payload === null ? [] : rebooked(key, payload);
    case "tool.started":
      if (payload?.mode === "check") return [];
      return [{ ...key, tool: payload?.name ?? "", ...NO_SPEND, calls: 1 }];
    case "tool.finished":
      if ((header.costMicros ?? 0) === 0) return [];
      return [{ ...key, ...NO_SPEND, micros: header.costMicros ?? 0 }];
    default:
      return [];
  }
}

/** Taken back where it was booked and booked as it is, both on the day of the call. */
function rebooked(
  key: SpendKey,
  correction: {
    readonly outcomeAt: number;
    readonly before: BookedCost;
    readonly after: BookedCost;
  },
): readonly SpendEntry[] {
  const day = toDay(correction.outcomeAt);
  const { before, after } = correction;
  const [taken, given] = [toCounts(before.settlement), toCounts(after.settlement)];
  return [
    { ...key, day, kind: before.kind, route: routeOf(before), ...subtract(NO_SPEND, taken) },
    { ...key, day, kind: after.kind, route: routeOf(after), ...given },
  ];
}

function routeOf({ settlement }: BookedCost): string {
  return settlement.route ?? "";
}

function toCounts(settlement: Settlement): SpendCounts {
  const isUnpriced = settlement.unpriced === true;
  return {
    ...NO_SPEND,
    ...toTokens(settlement),
    calls: 1,
    unpriced: isUnpriced ? 1 : 0,
    micros: isUnpriced ? 0 : settlement.costMicros,
  };
}

/** Logs from before there were kinds of tokens know their sum only. */
function toTokens(settlement: Settlement | null): TokenUsage {
  return settlement?.usage ?? { input: settlement?.tokens ?? 0, output: 0 };
}

function subtract(a: SpendCounts, b: SpendCounts): SpendCounts {
  return {
    calls: a.calls - b.calls,
    unpriced: a.unpriced - b.unpriced,
    micros: a.micros - b.micros,
    input: a.input - b.input,
    cachedInput: a.cachedInput - b.cachedInput,
    cacheWrite: a.cacheWrite - b.cacheWrite,
    audioInput: a.audioInput - b.audioInput,
    output: a.output - b.output,
    reasoning: a.reasoning - b.reasoning,
    audioOutput: a.audioOutput - b.audioOutput,
  };
}
