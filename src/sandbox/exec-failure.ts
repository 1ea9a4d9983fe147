/** What sandboxed code threw, made into a failure code and a message with the line of the code. Pure, for every rung. */
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

const MAX_MESSAGE_CHARS = 2_000;

/** `thrown` null: the code awaits something that never settles. */
export function toExecFailure(thrown: ThrownValue | null, fileName: string): ExecFailure {
  if (thrown === null) {
    return { code: "exec_error", message: "the code awaits something that never settles: there are no timers and no network here" };
  }
  const { name, message, stack } = thrown;
  if (message.startsWith(OUTPUT_INVALID)) return { code: "exec_output_invalid", message: bounded(message.slice(OUTPUT_INVALID.length)) };
  if (/^out of memory/i.test(message)) return { code: "exec_memory", message: "the code needed more memory than the sandbox has" };
  if (/stack overflow|Maximum call stack size exceeded/i.test(message)) return { code: "exec_stack", message: "the code recursed too deeply" };
  const line = lineOf(stack, fileName);
  const what = name === null || name === "" ? `thrown: ${message}` : `${name}: ${message}`;
  return { code: "exec_error", message: line === null ? bounded(what) : `${bounded(what)} (line ${line})` };
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
