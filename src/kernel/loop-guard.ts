/**
 * Loop guard: whether a run still gets anywhere, judged by what its calls asked and what they brought (rules B1 to B9).
 *
 * Pure, and a part of the folded state, so that a crash forgets nothing (B8). What counts is the call with its result:
 * a poll whose result changes, or one more of many different calls, is news, and news ends every count. Bounded: the
 * newest calls by digest, and counters.
 */
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { textDigest } from "#shared/text-digest.ts";
import type { ToolEffect } from "#ports/tool.ts";
import type { LoopPattern, LoopReport, Refusal, ToolResult } from "./events.ts";
import type { AgentManifest, LoopLimits } from "./manifest.ts";

export const DEFAULT_LOOP_LIMITS: LoopLimits = { maxRepeats: 5, maxRounds: 3, maxStale: 8 };

/** A call as it was asked for. */
export interface CallDigests {
  /** Of the canonical arguments. */
  readonly args: string;
  /** The same without arguments that only number or date the request. */
  readonly essence: string;
}
/** A call and what it brought. */
export interface LoopCall extends CallDigests {
  readonly tool: string;
  readonly result: string;
}
export interface LoopState {
  /** Newest last. */
  readonly recent: readonly LoopCall[];
  /** How many calls at the end equal the one 1, 2 and 3 before them. */
  readonly matches: readonly [number, number, number];
  /** How many calls at the end brought nothing that `recent` did not hold. */
  readonly stale: number;
  /** The model was told, and nothing new came since. */
  readonly warned: boolean;
}
export interface LoopFinding {
  readonly verdict: "warn" | "stop";
  readonly report: LoopReport;
}

export const FRESH_LOOP: LoopState = { recent: [], matches: [0, 0, 0], stale: 0, warned: false };

/** The longest period in which nothing new is still seen to be nothing new. */
const MAX_RECENT = 16;
const MAX_NAME = 64;
/** Of a limit, when the model is told. */
const WARN_SHARE = 0.6;

/** Names of arguments that identify a request and not what is asked for. */
const REQUEST_NAMES: ReadonlySet<string> = new Set([
  "requestid",
  "reqid",
  "traceid",
  "spanid",
  "correlationid",
  "idempotencykey",
  "nonce",
  "cachebuster",
]);
/** To a tool with an effect these may name what it acts on, as a message's `ts` does. */
const READ_NAMES: ReadonlySet<string> = new Set([
  "ts",
  "timestamp",
  "attempt",
  "retry",
  "retrycount",
]);

/** Arguments that could not be parsed are told apart by their text. */
export function digestCall(
  { args, argsText }: { readonly args: JsonObject | null; readonly argsText: string },
  effect: ToolEffect,
): CallDigests {
  if (args === null) {
    const digest = textDigest(argsText);
    return { args: digest, essence: digest };
  }
  const digest = textDigest(canonicalJson(args));
  const bare = withoutNoise(args, effect === "read");
  return { args: digest, essence: bare === args ? digest : textDigest(canonicalJson(bare)) };
}

/** The whole output counts, but not where the rest of it lies: that path is another one each time. */
export function digestResult({ status, code, output, handle, digest }: ToolResult): string {
  const whole = digest ?? textDigest(handle === null ? output : output.replaceAll(handle, ""));
  return textDigest(`${status} ${code ?? ""} ${whole}`);
}

export function digestRefusal({ code, message }: Refusal): string {
  return textDigest(`refused ${code} ${message}`);
}

export function addCall(loop: LoopState, asked: LoopCall): LoopState {
  const {
    recent,
    matches: [ones, twos, threes],
  } = loop;
  const call = { ...asked, tool: asked.tool.slice(0, MAX_NAME) };
  const stale = recent.some((known) => isStale(known, call)) ? loop.stale + 1 : 0;
  return {
    recent: [...recent.slice(1 - MAX_RECENT), call],
    matches: [
      isSame(recent.at(-1), call) ? ones + 1 : 0,
      isSame(recent.at(-2), call) ? twos + 1 : 0,
      isSame(recent.at(-3), call) ? threes + 1 : 0,
    ],
    stale,
    warned: loop.warned && stale > 0,
  };
}

/** What the calls so far amount to; null while the run gets on. */
export function inspectLoop(loop: LoopState, manifest: AgentManifest): LoopFinding | null {
  const last = loop.recent.at(-1);
  if (last === undefined || loop.stale === 0) return null;
  const measures = measure(loop, last, manifest);
  const reached = measures.find(({ rounds, limit }) => rounds >= limit);
  const near = loop.warned ? undefined : measures.find(isNear);
  const found = reached ?? near;
  if (found === undefined) return null;
  const { pattern, count } = found;
  const report = { pattern, tool: last.tool, args: last.args, count };
  return { verdict: reached === undefined ? "warn" : "stop", report };
}

interface Measure {
  readonly pattern: LoopPattern;
  readonly count: number;
  /** What the limit counts: calls, or rounds of a cycle. */
  readonly rounds: number;
  readonly limit: number;
}

function measure(
  { recent, matches, stale }: LoopState,
  last: LoopCall,
  manifest: AgentManifest,
): readonly Measure[] {
  const { maxRepeats, maxRounds, maxStale } = limitsOf(manifest);
  const repeatsOf = (tool: string): number => toolLimit(manifest, tool) ?? maxRepeats;
  // Who made a tool that is asked again and again knows best, also of the cycle that it is part of.
  const patience = (calls: number): number =>
    recent
      .slice(-calls)
      .reduce((most, { tool }) => Math.max(most, repeatsOf(tool) / maxRepeats), 1);
  const cycle = (pattern: LoopPattern, period: number, matched: number): Measure => {
    const count = matched + period;
    const limit = Math.floor(maxRounds * patience(period));
    return { pattern, count, rounds: Math.floor(count / period), limit };
  };
  const [ones, twos, threes] = matches;
  const repeats = ones + 1;
  const limit = Math.floor(maxStale * patience(stale));
  return [
    { pattern: "repeat", count: repeats, rounds: repeats, limit: repeatsOf(last.tool) },
    cycle("cycle_2", 2, twos),
    cycle("cycle_3", 3, threes),
    { pattern: "no_progress", count: stale + 1, rounds: stale, limit },
  ];
}

function isNear({ rounds, limit }: Measure): boolean {
  return rounds >= Math.max(2, Math.ceil(limit * WARN_SHARE));
}

/**
 * Calls of one answer start together, before any of them has brought anything: how many equal ones may. Refused ones
 * are not counted later, so a tool that answers differently each time goes on in the next step.
 */
export function refuseRepeat(
  loop: LoopState,
  call: { readonly tool: string; readonly args: string },
  { before, manifest }: { readonly before: number; readonly manifest: AgentManifest },
): Refusal | null {
  const limit = toolLimit(manifest, call.tool) ?? limitsOf(manifest).maxRepeats;
  const made = repeatsAtEnd(loop, call);
  if (made + before < limit) return null;
  const message =
    `The same call of ${call.tool} was made ${made + before} times already, and ${limit} are the most. ` +
    "It was not executed again: use what it brought, or do something else.";
  return { code: "loop_guard", message };
}

/** Equal calls that the run made last, as far as they brought the same. */
function repeatsAtEnd(
  { recent, matches: [ones] }: LoopState,
  { tool, args }: { readonly tool: string; readonly args: string },
): number {
  const isEqual = (known: LoopCall | undefined): boolean =>
    known?.tool === tool && known.args === args;
  if (!isEqual(recent.at(-1))) return 0;
  return ones === 0 && isEqual(recent.at(-2)) ? 0 : ones + 1;
}

function limitsOf({ loop }: AgentManifest): LoopLimits {
  return loop === undefined ? DEFAULT_LOOP_LIMITS : { ...DEFAULT_LOOP_LIMITS, ...loop };
}

function toolLimit({ tools }: AgentManifest, name: string): number | undefined {
  return tools.find((tool) => tool.name === name)?.limits.maxRepeats;
}

function isSame(one: LoopCall | undefined, other: LoopCall): boolean {
  return one?.tool === other.tool && one.args === other.args && one.result === other.result;
}

function isStale(known: LoopCall, { tool, essence, result }: LoopCall): boolean {
  return known.tool === tool && known.essence === essence && known.result === result;
}

/** The same object where there is no noise, as there mostly is none. */
function withoutNoise(args: JsonObject, isRead: boolean): JsonObject {
  let removed = false;
  const kept = Object.entries(args).flatMap(([key, value]): [string, Json][] => {
    const name = key.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
    if (REQUEST_NAMES.has(name) || (isRead && READ_NAMES.has(name))) {
      removed = true;
      return [];
    }
    const next = isJsonObject(value) ? withoutNoise(value, isRead) : value;
    removed ||= next !== value;
    return [[key, next]];
  });
  return removed ? Object.fromEntries(kept) : args;
}
