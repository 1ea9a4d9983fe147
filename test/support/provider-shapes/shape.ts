/**
 * What every stub of a provider has in common: it takes the request that the provider's own SDK builds, answers 400 with a
 * reason where the real one does, and else plays a turn in the provider's stream format.
 *
 * Each checks its own wire format from the published rules; what they share is only that a refusal is kept.
 */
import type { Model } from "#ports/model.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { findLoneSurrogate } from "../well-formed.ts";

export type TurnPart =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly call: { readonly name: string; readonly args: string } };
export type Turn = readonly TurnPart[];

/** Reasoning as the provider would send it: metadata of its block, and of the calls that depend on it. */
export interface SignedReasoning {
  /** Known to the stub: calls that need this reasoning are bound to it. */
  readonly key: string;
  readonly part: JsonObject | null;
  readonly call: (index: number) => JsonObject | null;
}

export interface ProviderShape {
  readonly name: string;
  /** Provider and model, as recorded with reasoning. */
  readonly origin: string;
  readonly model: Model;
  readonly requests: readonly JsonObject[];
  readonly refused: readonly string[];
  /** Of all reasoning it sent: what must come back, byte for byte. */
  readonly keys: readonly string[];
  sign(text: string): SignedReasoning;
  /** The call may not be sent without this reasoning, nor the reasoning without the call. */
  bind(callId: string, key: string): void;
  play(...turns: readonly Turn[]): void;
}

export interface Issued {
  readonly key: string;
  readonly text: string;
}
export interface Ledger {
  /** By what is sent back: an item id, a signature. */
  readonly issued: Map<string, Issued>;
  /** By call id. */
  readonly needs: Map<string, string>;
}

export interface ShapeSpec {
  readonly name: string;
  readonly origin: string;
  /** Why the real provider answers 400, or null. */
  readonly problem: (body: JsonObject, ledger: Ledger) => string | null;
  readonly sign: (text: string, index: number, ledger: Ledger) => SignedReasoning;
  /** The turn as the provider's stream, with its reasoning signed. */
  readonly stream: (turn: Turn, sign: (text: string) => SignedReasoning) => string;
  readonly toModel: (answer: Answer) => Model;
}
export type Answer = (body: JsonObject) => Response;

const OK: Turn = [{ text: "ok" }];

export function createShape(spec: ShapeSpec): ProviderShape {
  const requests: JsonObject[] = [];
  const refused: string[] = [];
  const ledger: Ledger = { issued: new Map(), needs: new Map() };
  let turns: readonly Turn[] = [];
  let signed = 0;
  const sign = (text: string): SignedReasoning => spec.sign(text, (signed += 1), ledger);
  const answer: Answer = (body) => {
    const problem = findLoneSurrogate(body, "body") ?? spec.problem(body, ledger);
    requests.push(body);
    if (problem !== null) {
      refused.push(problem);
      return Response.json(
        { error: { message: problem, type: "invalid_request_error" } },
        { status: 400 },
      );
    }
    const turn = turns[Math.min(requests.length, turns.length) - 1] ?? OK;
    return new Response(spec.stream(turn, sign), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  return {
    name: spec.name,
    origin: spec.origin,
    model: spec.toModel(answer),
    requests,
    refused,
    get keys() {
      return [...ledger.issued.keys()];
    },
    sign,
    bind: (callId, key) => void ledger.needs.set(callId, key),
    play(...next) {
      turns = [...requests.map(() => OK), ...next];
    },
  };
}

/** A fetch that never leaves: the body goes to the stub as JSON. */
export function toFetch(answer: Answer): typeof fetch {
  return async (_input, init) => answer(toObject(JSON.parse(String(init?.body))));
}

export function frames(events: readonly Json[]): string {
  return events
    .map((event) => {
      const type = isJsonObject(event) && typeof event["type"] === "string" ? event["type"] : null;
      return `${type === null ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
    })
    .join("");
}

export function toObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new TypeError("a body is an object");
  return value;
}
export function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item: Json) => isJsonObject(item)) : [];
}
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** What a call must be for every provider; null when it is. */
export function callProblem(call: {
  readonly id: string;
  readonly name: string;
  readonly input: Json | undefined;
  readonly names: RegExp;
}): string | null {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.id))
    return `call id ${JSON.stringify(call.id)} is invalid`;
  if (!call.names.test(call.name)) return `tool name ${JSON.stringify(call.name)} is invalid`;
  return isJsonObject(call.input) ? null : `input of ${call.name} is not an object`;
}

/** Undefined when it is no JSON. */
export function parseJson(text: Json | undefined): Json | undefined {
  try {
    const value: Json = JSON.parse(textOf(text));
    return value;
  } catch {
    return undefined;
  }
}
