/**
 * DynamicWorkerSandbox: JavaScript in an isolate of its own, the production rung.
 *
 * S1 no bindings, no outbound network, a new isolate for each run. S2 CPU and memory are the platform's to enforce;
 * here a race bounds the waiting. The local workerd enforces neither and an endless loop hangs all of it: use QuickJS
 * there. S4 files are copied into the isolate and its changes come back as data: nothing is staged before it ended.
 */
import type { Clock } from "#ports/clock.ts";
import type { Sandbox, SandboxRequest, SandboxResult } from "#ports/sandbox.ts";
import { AppError, isAppError } from "#shared/errors.ts";
import {
  parseExecValue,
  toExecFailure,
  type ExecOutcome,
  type ThrownValue,
} from "#sandbox/exec-outcome.ts";
import { toSandboxOutput, type KeptOutput } from "#sandbox/output.ts";
import { HARNESS_MODULE, toCodeModule } from "./isolate-harness.ts";

/** All files of a workspace are copied into the isolate, whose memory is 128 MB with code and data. */
export const MAX_PRELOAD_BYTES = 16 * 1024 * 1024;
const FILE_NAME = "code.js";
const COMPATIBILITY_DATE = "2026-11-01";
const NOTHING_PRINTED: KeptOutput = { head: "", tail: "", bytes: 0 };

/** The part of the worker_loaders binding that is used here. */
export interface IsolateLoader {
  load(code: {
    readonly compatibilityDate: string;
    readonly mainModule: string;
    readonly modules: Record<string, string>;
    readonly env: Record<string, never>;
    readonly globalOutbound: null;
    readonly limits: { readonly cpuMs: number; readonly subRequests: number };
  }): { getEntrypoint(): unknown };
}
/** What the harness's entrypoint offers over RPC. */
interface IsolateEntrypoint {
  run(input: {
    readonly files: Map<string, Uint8Array>;
    readonly maxOutputBytes: number;
  }): Promise<IsolateReport>;
}
interface IsolateReport {
  readonly settled: { readonly text: string } | { readonly thrown: ThrownValue };
  readonly output: KeptOutput;
  /** Null content: deleted. */
  readonly changes: readonly (readonly [path: string, content: Uint8Array | null])[];
}

export function createDynamicWorkerSandbox(
  loader: IsolateLoader,
  clock: Clock = { now: () => Date.now() },
): Sandbox {
  return {
    id: "dynamic-worker@1",
    run: async (request) => {
      const startedAt = clock.now();
      const { outcome, output } = await execute(loader, request);
      return {
        ...outcome,
        output: toSandboxOutput(output, request.limits.maxOutputBytes),
        wallMs: clock.now() - startedAt,
      } satisfies SandboxResult;
    },
  };
}

interface Executed {
  readonly outcome: ExecOutcome;
  readonly output: KeptOutput;
}

async function execute(loader: IsolateLoader, request: SandboxRequest): Promise<Executed> {
  const { limits, signal } = request;
  if (signal.aborted)
    return failed({ ok: false, code: "exec_cancelled", message: "cancelled before it began" });
  const race = raceLimits(limits.timeoutMs, signal);
  try {
    const files = preload(request);
    const entrypoint = loader
      .load({
        compatibilityDate: COMPATIBILITY_DATE,
        mainModule: "harness.js",
        modules: { "harness.js": HARNESS_MODULE, [FILE_NAME]: toCodeModule(request.code) },
        env: {},
        globalOutbound: null,
        limits: { cpuMs: limits.timeoutMs, subRequests: 0 },
      })
      // The entrypoint is the one that HARNESS_MODULE exports.
      .getEntrypoint() as IsolateEntrypoint;
    const ended = await Promise.race([
      entrypoint.run({ files, maxOutputBytes: limits.maxOutputBytes }),
      race.ended,
    ]);
    if ("ok" in ended) return failed(ended);
    return { outcome: conclude(request, ended), output: ended.output };
  } catch (error) {
    return failed(toIsolateFailure(error));
  } finally {
    race.stop();
  }
}

function failed(outcome: ExecOutcome): Executed {
  return { outcome, output: NOTHING_PRINTED };
}

function preload({ files }: SandboxRequest): Map<string, Uint8Array> {
  const stats = files.list();
  const bytes = stats.reduce((sum, stat) => sum + stat.bytes, 0);
  if (bytes > MAX_PRELOAD_BYTES) {
    throw new AppError(
      "file_too_large",
      `the workspace has ${bytes} bytes; run_code works on at most ${MAX_PRELOAD_BYTES} here: delete files it does not need`,
      { kind: "exhausted" },
    );
  }
  return new Map(
    stats.flatMap(({ path }) => {
      const content = files.read(path);
      return content === null ? [] : [[path, content] as const];
    }),
  );
}

/** Stages the changes, also of code that failed: whoever takes the outcome decides what commits. */
function conclude({ files }: SandboxRequest, { settled, changes }: IsolateReport): ExecOutcome {
  for (const [path, content] of changes) {
    if (content === null) files.delete(path);
    else files.write(path, content);
  }
  return "text" in settled
    ? parseExecValue(settled.text)
    : { ok: false, ...toExecFailure(settled.thrown, FILE_NAME) };
}

function toIsolateFailure(error: unknown): ExecOutcome {
  if (isAppError(error)) return { ok: false, code: "exec_error", message: error.message };
  const thrown =
    error instanceof Error
      ? { name: error.name, message: error.message, stack: error.stack ?? "" }
      : { name: null, message: String(error), stack: "" };
  // The platform's own words; there is no code to tell them by. Measured: syntax and hang. Documented: the two limits.
  const syntax = /Uncaught SyntaxError: ([^\n]+)/.exec(thrown.message)?.[1];
  if (syntax !== undefined)
    return {
      ok: false,
      ...toExecFailure({ name: "SyntaxError", message: syntax, stack: thrown.message }, FILE_NAME),
    };
  if (/code had hung/.test(thrown.message)) return { ok: false, ...toExecFailure(null, FILE_NAME) };
  if (/exceeded (its )?CPU/i.test(thrown.message))
    return { ok: false, code: "exec_timeout", message: "the code used all of its CPU time" };
  if (/exceeded (its )?memory/i.test(thrown.message))
    return {
      ok: false,
      code: "exec_memory",
      message: "the code needed more memory than the sandbox has",
    };
  return { ok: false, ...toExecFailure(thrown, FILE_NAME) };
}

function raceLimits(
  timeoutMs: number,
  signal: AbortSignal,
): { readonly ended: Promise<ExecOutcome>; stop(): void } {
  let finish: (outcome: ExecOutcome) => void = () => undefined;
  const ended = new Promise<ExecOutcome>((resolve) => {
    finish = resolve;
  });
  const timer = setTimeout(
    () =>
      finish({
        ok: false,
        code: "exec_timeout",
        message: `the code ran longer than ${timeoutMs} ms`,
      }),
    timeoutMs,
  );
  const onAbort = (): void => finish({ ok: false, code: "exec_cancelled", message: "cancelled" });
  signal.addEventListener("abort", onAbort);
  return {
    ended,
    stop: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}
