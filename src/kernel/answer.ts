/**
 * readAnswer: what a model sent -> the parts that are recorded, with every call either parsed or refused.
 *
 * Arguments are parsed here once (T2), and what was encoded twice is decoded by schema first (T11); policy, intent, audit
 * and the tool see this object. A refusal is a value in the answer, so the model gets one result for it and nothing is
 * run. In this order: a shared provider id (K22), a call the output limit cut (K20), an unknown tool (K21), arguments
 * that do not fit (T3). A call written as text is named, never made (K25).
 */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { invariant } from "#shared/exhaustive.ts";
import type { Result } from "#shared/result.ts";
import type { FinishReason, ModelPart, ModelSettings, Usage } from "#ports/model.ts";
import type { ArgumentIssue } from "#ports/tool.ts";
import { coerceArguments } from "./coerce-arguments.ts";
import type { AnswerPart, Refusal } from "./events.ts";
import { endsEarly, nestsDeeper } from "./json-scan.ts";
import type { AgentManifest } from "./manifest.ts";
import { isBlank } from "./prompt-text.ts";
import { suggestNames } from "./suggest-names.ts";
import { findTextCall } from "./text-call.ts";

export type ContentPart = Extract<ModelPart, { readonly type: "text" | "reasoning" | "call" }>;

export interface RawAnswer {
  /** In provider order; adjacent text, and adjacent reasoning, are joined. */
  readonly parts: readonly ContentPart[];
  readonly finish: FinishReason;
  readonly usage: Usage;
  readonly settings: ModelSettings;
  readonly manifest: AgentManifest;
  /** At least as many as there are calls; unique in the log. */
  readonly mintedCallIds: readonly string[];
  /** By the schema of the named tool, which the manifest has. */
  readonly parse: (name: string, args: Json) => Result<JsonObject, readonly ArgumentIssue[]>;
}
export interface ReadAnswer {
  readonly parts: readonly AnswerPart[];
  /** What the parts say where the provider's word does not fit them: calls never come with `stop`. */
  readonly finish: FinishReason;
  /** Tool whose call was written as text, in an answer without calls (K25). */
  readonly textCall: string | null;
}

type RawCall = Extract<ContentPart, { readonly type: "call" }>;

const MAX_ISSUES = 5;
const MAX_SHOWN_NAME = 64;
const MAX_MESSAGE = 800;
const MAX_DEPTH = 64;

export function readAnswer(raw: RawAnswer): ReadAnswer {
  const joined = joinDeltas(raw.parts);
  const calls = joined.filter((part) => part.type === "call");
  const repeated = repeatedIds(calls);
  const cut = cutCall(raw, joined);
  let index = 0;
  const parts = joined.map((part): AnswerPart => {
    if (part.type === "reasoning") return withFittingMeta(part);
    if (part.type !== "call") return part;
    const callId = raw.mintedCallIds[index];
    invariant(callId !== undefined, "a call id is minted for each call");
    index += 1;
    return {
      ...readCall(raw, part, {
        isRepeated: repeated.has(part.providerCallId),
        isCut: part === cut,
      }),
      callId,
    };
  });
  const finish = normaliseFinish(raw.finish, calls.length);
  const isFinal = calls.length === 0 && finish === "stop";
  return {
    parts,
    finish,
    textCall: isFinal ? findTextCall(answerText(parts), raw.manifest.tools) : null,
  };
}

/** What is stored is well-formed (L7). A signature over text that this changes would be refused: it goes (K24). */
function withFittingMeta(part: Extract<ContentPart, { type: "reasoning" }>): AnswerPart {
  return part.meta === null || part.text.isWellFormed() ? part : { ...part, meta: null };
}

/** The text of an answer as a user reads it. */
export function answerText(parts: readonly AnswerPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function normaliseFinish(finish: FinishReason, calls: number): FinishReason {
  if (calls > 0) return finish === "stop" || finish === "other" ? "tool_calls" : finish;
  return finish === "tool_calls" ? "stop" : finish;
}

function joinDeltas(parts: readonly ContentPart[]): readonly ContentPart[] {
  const joined: ContentPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text") {
      joined[joined.length - 1] = { type: "text", text: last.text + part.text };
    } else if (part.type === "reasoning" && last?.type === "reasoning" && last.meta === null) {
      // Metadata ends its block: a signature covers the text before it, never the text of the next block.
      joined[joined.length - 1] = {
        type: "reasoning",
        text: last.text + part.text,
        meta: part.meta ?? last.meta,
      };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

function repeatedIds(calls: readonly RawCall[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { providerCallId } of calls) {
    // No id is no claim of identity.
    if (providerCallId === "") continue;
    if (seen.has(providerCallId)) repeated.add(providerCallId);
    seen.add(providerCallId);
  }
  return repeated;
}

/**
 * The call in which the answer was cut off, if it was: the last one, with nothing after it. A router may relabel the
 * finish, so usage at the limit and arguments that end early count too.
 */
function cutCall(
  { finish, usage, settings }: RawAnswer,
  joined: readonly ContentPart[],
): RawCall | null {
  const last = joined.findLast((part) => part.type === "call" || !isBlank(part.text));
  if (last?.type !== "call") return null;
  const isAtLimit = usage.outputTokens !== null && usage.outputTokens >= settings.maxOutputTokens;
  const isCut =
    finish === "length" || finish === "content_filter" || isAtLimit || endsEarly(last.argsText);
  return isCut ? last : null;
}

function readCall(
  { finish, manifest, parse }: RawAnswer,
  { providerCallId, name, argsText }: RawCall,
  { isRepeated, isCut }: { readonly isRepeated: boolean; readonly isCut: boolean },
): Omit<Extract<AnswerPart, { readonly type: "call" }>, "callId"> {
  const base = { type: "call", providerCallId, name, argsText } as const;
  const refuse = (code: Refusal["code"], message: string) =>
    ({
      ...base,
      args: null,
      refusal: { code, message: message.slice(0, MAX_MESSAGE).toWellFormed() },
    }) as const;
  if (isRepeated) {
    return refuse(
      "duplicate_call_id",
      "several calls of this answer share one id; none of them was executed",
    );
  }
  if (finish === "content_filter")
    return refuse("tool_args_truncated", "the answer was filtered; the call was not executed");
  if (isCut) {
    return refuse(
      "tool_args_truncated",
      "the answer was cut off inside this call; it was not executed. Send less in one call",
    );
  }
  const tool = manifest.tools.find((known) => known.name === name);
  if (tool === undefined) return refuse("unknown_tool", unknownTool(manifest, name));
  if (nestsDeeper(argsText, MAX_DEPTH))
    return refuse("tool_args_invalid", `the arguments nest deeper than ${MAX_DEPTH} levels`);
  const text = parseText(argsText);
  const args = text === undefined ? undefined : coerceArguments(tool.inputSchema, text);
  if (args === undefined)
    return refuse(
      "tool_args_invalid",
      "the arguments are not valid JSON; expected one JSON object",
    );
  if (!isJsonObject(args)) {
    return refuse(
      "tool_args_invalid",
      `the arguments are ${typeName(args)}; expected one JSON object at "" (the root)`,
    );
  }
  const parsed = parse(name, args);
  if (parsed.ok) return { ...base, args: parsed.value, refusal: null };
  return refuse(
    "tool_args_invalid",
    `the arguments do not fit the schema: ${describeIssues(parsed.error)}`,
  );
}

/** Undefined when it is not JSON. Nothing, or null, is what providers send for a tool without parameters. */
function parseText(text: string): Json | undefined {
  if (isBlank(text)) return {};
  try {
    const value: Json = JSON.parse(text);
    return value === null ? {} : value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function typeName(value: Json): string {
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function describeIssues(issues: readonly ArgumentIssue[]): string {
  const shown = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${JSON.stringify(path)}: ${message}`);
  const more = issues.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}

function unknownTool(manifest: AgentManifest, name: string): string {
  const shown = JSON.stringify(name.slice(0, MAX_SHOWN_NAME));
  const suggestions = suggestNames(
    name,
    manifest.tools.map((tool) => tool.name),
  );
  return suggestions.length === 0
    ? `there is no tool ${shown}`
    : `there is no tool ${shown}; did you mean: ${suggestions.join(", ")}?`;
}
