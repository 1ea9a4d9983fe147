/**
 * Histories that a thread can have, however badly its models, clients and machines behave: raw answers go through
 * `readAnswer`, the kernel decides, work crashes, is repeated, cancelled, steered, trimmed and erased.
 *
 * One seeded generator instead of one arbitrary per choice: ten thousand histories have to be made in seconds. A failing
 * seed is the whole counterexample.
 */
import { type ContentPart, readAnswer } from "#kernel/answer.ts";
import { isErasable } from "#kernel/erasure.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { preamble } from "#kernel/prompt.ts";
import type { FinishReason, ModelRequest } from "#ports/model.ts";
import type { JsonObject } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { KernelDriver } from "./kernel-driver.ts";
import { NO_USAGE } from "./kernel-fixture.ts";
import type { ProviderShape } from "./provider-shapes/shape.ts";

const LONG = "Item 12, found on 2026-11-03: nothing much. ".repeat(40);
const TEXTS = [
  "done",
  LONG,
  " \n",
  "",
  "half \uD83D",
  "\uDD11",
  "emoji 🧪",
  "(no output)",
  "\u0000",
  "‮x",
];
const NAMES = [
  "look",
  "put",
  "pay",
  "book",
  "nope",
  "",
  "get weather!",
  "1st",
  "-x",
  "n".repeat(300),
  "lo\uD800ok",
];
const ARGS = [
  "{}",
  '{"a":1}',
  "",
  "null",
  "[1]",
  '"x"',
  '{"a":"b',
  '"{\\"a\\":1}"',
  '{"__proto__":{"a":1}}',
  '{"t":"\\uD83D"}',
  "nonsense",
  `${"[".repeat(200)}${"]".repeat(200)}`,
];
const FINISHES: readonly FinishReason[] = [
  "stop",
  "tool_calls",
  "tool_calls",
  "length",
  "content_filter",
  "other",
];

/** The last request of the history, or any one of it. */
export function randomHistory(seed: number, shape: ProviderShape): ModelRequest {
  const random = new Random(seed);
  const driver = new KernelDriver({ contextTokens: random.pick([900, 1_500, 8_000]) }).create();
  driver.send(random.pick(["begin", "half \uD83D", LONG]));
  for (let count = 6 + random.below(28); count > 0; count -= 1) act(driver, random, shape);
  settle(driver);
  if (random.below(4) === 0) erase(driver, random);
  driver.send(random.pick(["and now?", "\uDD11", LONG]));
  driver.pumpAll();
  const { manifest } = driver;
  const { length } = driver.prompts;
  const prompt = driver.prompts[random.below(3) === 0 ? random.below(length) : length - 1];
  if (prompt === undefined) throw new Error("a history ends with a request");
  return { ...preamble(manifest, null), messages: prompt.messages };
}

class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
  }
  /** Mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, limit);
  }
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }
}

function act(driver: KernelDriver, random: Random, shape: ProviderShape): void {
  const model = driver.flightOf("call_model");
  const tools = driver.flights.filter(({ effect }) => effect.type === "call_tool");
  const dice = random.below(20);
  if (dice === 0) driver.send(random.pick(TEXTS));
  else if (dice === 1) driver.send(random.pick(TEXTS), { delivery: "steer" });
  else if (dice === 2 && random.below(2) === 0)
    driver.cancel(driver.state.run?.runId ?? driver.state.queue.at(-1)?.runId ?? "none");
  else if (dice === 3) driver.crash();
  else if (dice === 4) driver.deliverZombie(0);
  else if (dice === 5 && model !== undefined)
    driver.failModel(
      random.pick(["overloaded", "stream_error", "context_overflow", "invalid_request"]),
      random.below(3) === 0 ? null : driver.now + 10,
    );
  else if (model !== undefined) answer(driver, random, shape);
  else if (tools.length > 0) finishTool(driver, random);
  else driver.pumpAll();
}

function finishTool(driver: KernelDriver, random: Random): void {
  const { effect } = random.pick(driver.flights);
  if (effect.type !== "call_tool") return;
  const plan = random.below(6) === 0 ? { plan: [{ text: "next", status: "active" as const }] } : {};
  driver.finishTool({
    callId: effect.callId,
    output: random.pick(TEXTS),
    status: random.pick(["ok", "ok", "error", "unknown"]),
    ...plan,
  });
}

interface Signed {
  readonly key: string;
  /** Provider ids of the calls that were made with it. */
  readonly calls: Set<number>;
}

function answer(driver: KernelDriver, random: Random, shape: ProviderShape): void {
  const { parts, signed } = rawParts(random, shape);
  const calls = parts.filter((part) => part.type === "call");
  const read = readAnswer({
    parts,
    finish: random.pick(FINISHES),
    usage: NO_USAGE,
    settings: driver.manifest.settings,
    manifest: driver.manifest,
    mintedCallIds: calls.map(() => driver.mint("call")),
    parse: (_name, args) => ok(args as JsonObject),
  });
  const made = read.parts.filter((part) => part.type === "call");
  for (const { key, calls: indexes } of signed)
    for (const [index, { callId }] of made.entries())
      if (indexes.has(index)) shape.bind(callId, key);
  driver.answer({
    parts: read.parts,
    finish: read.finish,
    ...(read.textCall === null ? {} : { textCall: read.textCall }),
  });
}

/** Text, then blocks of reasoning (of this provider, of another, or unsigned) each with the calls it led to. */
function rawParts(
  random: Random,
  shape: ProviderShape,
): { readonly parts: readonly ContentPart[]; readonly signed: readonly Signed[] } {
  const parts: ContentPart[] = [];
  const signed: Signed[] = [];
  let calls = 0;
  const call = (): ContentPart => {
    calls += 1;
    const providerCallId = random.pick(["", "x1", "read:0", `p${calls}`, `p${calls}`, `p${calls}`]);
    return {
      type: "call",
      providerCallId,
      name: random.pick(NAMES.slice(0, random.pick([4, 4, NAMES.length]))),
      argsText: random.pick(ARGS),
    };
  };
  if (random.below(2) === 0) parts.push({ type: "text", text: random.pick(TEXTS) });
  const kind = random.below(5);
  const count = random.below(4);
  if (kind < 2) {
    const text = random.pick(["thinking", LONG, "hm"]);
    const reasoning = shape.sign(text);
    const meta = { origin: shape.origin, part: reasoning.part, nextCall: null };
    parts.push({ type: "reasoning", text, meta });
    for (let index = 0; index < count; index += 1) {
      const nextCall = reasoning.call(index);
      if (nextCall !== null)
        parts.push({
          type: "reasoning",
          text: "",
          meta: { origin: shape.origin, part: null, nextCall },
        });
      parts.push(call());
    }
    signed.push({
      key: reasoning.key,
      calls: new Set(Array.from({ length: calls }, (_, index) => index)),
    });
  } else if (kind === 2) {
    const meta = {
      origin: "other/model",
      part: { other: { signature: "foreign" } },
      nextCall: null,
    };
    parts.push({ type: "reasoning", text: "elsewhere", meta });
  } else if (kind === 3) parts.push({ type: "reasoning", text: random.pick(TEXTS), meta: null });
  if (kind >= 2) for (let index = 0; index < count; index += 1) parts.push(call());
  if (random.below(5) === 0) parts.push({ type: "text", text: random.pick(TEXTS) });
  return { parts, signed };
}

function settle(driver: KernelDriver): void {
  for (let round = 0; round < 200; round += 1) {
    driver.pumpAll();
    if (driver.flights.length === 0) return;
    if (driver.flightOf("call_model") === undefined) driver.finishTool();
    else driver.answer({ text: "the end" });
  }
  throw new Error("the thread never comes to rest");
}

/** Any events, as an erasure takes them: the state is folded again from what is left. */
function erase(driver: KernelDriver, random: Random): void {
  for (let count = 1 + random.below(6); count > 0; count -= 1) {
    const index = random.below(driver.events.length);
    const event = driver.events[index];
    if (event !== undefined && isErasable(event.type))
      driver.events[index] = { ...event, payload: null };
  }
  driver.state = driver.events.reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
  driver.crash();
}
