/** What sandboxed code returned or threw, made into the same outcome on every rung. Pure. */
import type { Json } from "#shared/json.ts";
import type { SandboxFailureCode } from "#ports/sandbox.ts";
import { OUTPUT_INVALID } from "./prelude.ts";

export interface ThrownValue {
  /** Null when what was thrown is no Error. */
  readonly name: string | null;
  readonly message: string;
  readonly stack: string;
}
export interface ExecFailure {
  readonly code: SandboxFailureCode;
  readonly message: string;
}

export type ExecOutcome =
  | { readonly ok: true; readonly value: Json }
  | ({ readonly ok: false } & ExecFailure);

const MAX_MESSAGE_CHARS = 2_000;
/** Deeper values overflow the stack of whatever walks them later: hashing, redaction, a client. */
const MAX_VALUE_DEPTH = 100;

/** From the JSON text that the prelude's encoder made. */
export function parseExecValue(text: string): ExecOutcome {
  try {
    const value = JSON.parse(text) as Json;
    if (fitsDepth(value, MAX_VALUE_DEPTH)) return { ok: true, value };
    return {
      ok: false,
      code: "exec_output_invalid",
      message: `the returned value is nested deeper than ${MAX_VALUE_DEPTH} levels`,
    };
  } catch {
    return { ok: false, code: "exec_output_invalid", message: "the returned value is not JSON" };
  }
}

function fitsDepth(value: Json, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner: Json) => fitsDepth(inner, depth - 1));
}

/** `thrown` null: the code awaits something that never settles. */
export function toExecFailure(thrown: ThrownValue | null, fileName: string): ExecFailure {
  if (thrown === null) {
    return {
      code: "exec_error",
      message:
        "the code awaits something that never settles: there are no timers and no network here",
    };
  }
  const { name, message, stack } = thrown;
  if (message.startsWith(OUTPUT_INVALID))
    return { code: "exec_output_invalid", message: bounded(message.slice(OUTPUT_INVALID.length)) };
  if (/^out of memory|^string too long|^invalid array buffer length/i.test(message))
    return { code: "exec_memory", message: "the code needed more memory than the sandbox has" };
  if (/stack overflow|Maximum call stack size exceeded/i.test(message))
    return { code: "exec_stack", message: "the code recursed too deeply" };
  const line = lineOf(stack, fileName);
  const what = name === null || name === "" ? `thrown: ${message}` : `${name}: ${message}`;
  return {
    code: "exec_error",
    message: line === null ? bounded(what) : `${bounded(what)} (line ${line})`,
  };
}

function lineOf(stack: string, fileName: string): number | null {
  const at = stack.indexOf(`${fileName}:`);
  if (at < 0) return null;
  const line = Number.parseInt(stack.slice(at + fileName.length + 1), 10);
  return Number.isNaN(line) ? null : line;
}

function bounded(text: string): string {
  return text.slice(0, MAX_MESSAGE_CHARS).toWellFormed();
}
