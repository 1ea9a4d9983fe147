/** Whether a final answer is the value that its run was asked for (K17). */
import type { AnswerPart, OutputCheck } from "#kernel/events.ts";
import { answerText } from "#kernel/answer.ts";
import { isBlank } from "#kernel/prompt-text.ts";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { Json } from "#shared/json.ts";

const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;

/** Null where nothing was asked for, or the answer is not final: it has calls, or says nothing. */
export function checkOutput(
  spec: OutputSpec | null,
  parts: readonly AnswerPart[],
  schemas: JsonSchemas,
): OutputCheck | null {
  const text = answerText(parts);
  if (spec === null || isBlank(text) || parts.some((part) => part.type === "call")) return null;
  const value = parse(FENCED.exec(text)?.[1] ?? text);
  if (value === undefined) return { ok: false, issues: ["/: the answer is not JSON"] };
  const issues = schemas.check(spec.schema, value);
  return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
