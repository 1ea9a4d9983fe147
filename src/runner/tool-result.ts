/**
 * What a tool gave back, as the model is shown it: never empty (K9), well-formed (L7), at most `maxResultBytes` (T4).
 *
 * A longer result becomes head and tail with its size and a handle; the whole is staged as a workspace file of that
 * name, so it commits with the outcome and the tools that read files page through it.
 */
import type { ToolResult, ToolStatus } from "#kernel/tool-result.ts";
import { EMPTY_RESULT, isBlank } from "#kernel/prompt-text.ts";
import type { ToolContent } from "#ports/content.ts";
import type { WorkspaceSession } from "#ports/workspace.ts";
import { isAppError } from "#shared/errors.ts";
import { utf8, type Json } from "#shared/json.ts";
import { textDigest } from "#shared/text-digest.ts";

export const RESULTS_FOLDER = ".results";
const DECODER = new TextDecoder();

export interface ResultLimits {
  readonly callId: string;
  readonly maxResultBytes: number;
  /** Where the whole of a long result is staged; null keeps the preview only. */
  readonly files: WorkspaceSession | null;
}

/** A string as it is, any other value as JSON. */
export function toResultText(value: Json | undefined): string {
  if (value === undefined) return "";
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
}

export function toToolResult(text: string, limits: ResultLimits): ToolResult {
  return bounded({ status: "ok", code: null }, text, limits);
}

/** The message only: a stack would tell the model, and who reads its transcript, about the inside of the service. */
export function toErrorResult(code: string, message: string, limits: ResultLimits): ToolResult {
  return bounded({ status: "error", code }, message.toWellFormed(), { ...limits, files: null });
}

/** A check that could not tell: the first attempt may have happened, so nothing is run again (G8). */
export function toUnknownResult(message: string, limits: ResultLimits): ToolResult {
  const text =
    `It is not known whether this call happened, and it was not repeated. ${message}`.toWellFormed();
  return bounded({ status: "unknown", code: "outcome_unknown" }, text, { ...limits, files: null });
}

/** Larger content belongs into a file of the workspace, or behind a link. */
const MAX_PARTS_BYTES = 1_000_000;

/** What a guardrail changed the words of is not shown in another form either. */
export function withParts(result: ToolResult, content: ToolContent, shown: string): ToolResult {
  const { parts } = content;
  if (shown !== content.toText() || JSON.stringify(parts).length > MAX_PARTS_BYTES) return result;
  return { ...result, parts };
}

export function toErrorCode(error: unknown): string {
  return isAppError(error) ? error.code : "tool_failed";
}

export function toErrorMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : typeof error === "string" ? error : "";
  return message === "" ? "The tool failed without a message." : message;
}

function bounded(
  outcome: { readonly status: ToolStatus; readonly code: string | null },
  text: string,
  limits: ResultLimits,
): ToolResult {
  const whole = utf8(text);
  const base = { ...outcome, bytes: whole.length, handle: null };
  if (isBlank(text)) return { ...base, output: EMPTY_RESULT };
  if (whole.length <= limits.maxResultBytes) return { ...base, output: text };
  const handle = stage(whole, limits);
  const hint =
    handle === null
      ? "The rest is not available; ask for less."
      : `The whole result is the file ${handle}: read the part you need by byte offset, or search it, instead of repeating the call.`;
  const output = preview(whole, limits.maxResultBytes, hint);
  return { ...base, handle, output, digest: textDigest(text) };
}

function stage(whole: Uint8Array, limits: ResultLimits): string | null {
  const path = `${RESULTS_FOLDER}/${limits.callId}.txt`;
  try {
    limits.files?.write(path, whole);
    return limits.files === null ? null : path;
  } catch (error) {
    // A full workspace costs the rest of this result, not the call: its effect has already happened.
    if (isAppError(error)) return null;
    throw error;
  }
}

/** Head and tail on character boundaries; markers included, at most `maxBytes`. */
function preview(whole: Uint8Array, maxBytes: number, hint: string): string {
  const marker = `\n[... cut: ${whole.length} bytes in all. ${hint} ...]\n`;
  const room = Math.max(0, maxBytes - utf8(marker).length);
  const headBytes = Math.ceil((room * 2) / 3);
  const head = cut(whole, 0, headBytes);
  const tail = cut(whole, whole.length - (room - headBytes), whole.length);
  return room === 0 ? cut(utf8(marker.trim()), 0, maxBytes) : `${head}${marker}${tail}`;
}

function cut(bytes: Uint8Array, from: number, to: number): string {
  let start = from;
  let end = Math.max(from, to);
  while (start < bytes.length && start > 0 && isContinuation(bytes[start])) start += 1;
  while (end > start && end < bytes.length && isContinuation(bytes[end])) end -= 1;
  return DECODER.decode(bytes.subarray(start, Math.max(start, end)));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
