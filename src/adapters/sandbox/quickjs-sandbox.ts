/**
 * QuickJsSandbox: JavaScript in a QuickJS virtual machine inside WebAssembly, for every place where the platform itself
 * cannot stop a loop: local workerd, and plain Node.
 *
 * S1 a new runtime and context for each run, with ECMAScript intrinsics and the prelude's globals, nothing else.
 * S2 an interrupt handler stops it by deadline and by tick count; memory and stack have hard limits of the virtual
 * machine. A module that crashed, or grew to its memory limit, is dropped and loaded anew.
 * The run is synchronous: it holds the event loop for up to `timeoutMs`, so keep that low.
 */
import { newQuickJSWASMModuleFromVariant, type QuickJSContext, type QuickJSHandle, type QuickJSWASMModule } from "quickjs-emscripten-core";
import type { Json } from "#shared/json.ts";
import type { Clock } from "#ports/clock.ts";
import type { Sandbox, SandboxFailureCode, SandboxRequest, SandboxResult } from "#ports/sandbox.ts";
import { OutputCapture, toSandboxOutput } from "#sandbox/output.ts";
import { PRELUDE_SOURCE } from "#sandbox/prelude.ts";
import { toExecFailure, type ExecFailure, type ThrownValue } from "#sandbox/exec-failure.ts";
import { createPrimitives } from "./quickjs-primitives.ts";

type VariantLoader = () => Parameters<typeof newQuickJSWASMModuleFromVariant>[0];

/** 512 KiB overflows the stack of the WebAssembly module itself, which then throws instead of ending cleanly. */
const STACK_BYTES = 128 * 1024;
/**
 * Where the clock stands still while code runs, ticks are the only bound. A tick takes 40 us at the very least, so this
 * never ends a run before its deadline.
 */
const TICKS_PER_MS = 50;
const JOBS_PER_TURN = 1_000;
const FILE_NAME = "code.js";

export interface QuickJsSandboxOptions {
  readonly clock?: Clock;
}

/** `loadVariant` gives the WebAssembly for this host: the package's own in Node, an imported module in workerd. */
export function createQuickJsSandbox(loadVariant: VariantLoader, options: QuickJsSandboxOptions = {}): Sandbox {
  return new QuickJsSandbox(loadVariant, options.clock ?? { now: () => Date.now() });
}

type Outcome = { readonly ok: true; readonly value: Json } | ({ readonly ok: false } & ExecFailure);

class QuickJsSandbox implements Sandbox {
  readonly id = "quickjs@1";
  readonly #loadVariant: VariantLoader;
  readonly #clock: Clock;
  #module: Promise<QuickJSWASMModule> | null = null;

  constructor(loadVariant: VariantLoader, clock: Clock) {
    this.#loadVariant = loadVariant;
    this.#clock = clock;
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    const module = await this.#load();
    const startedAt = this.#clock.now();
    const capture = new OutputCapture(request.limits.maxOutputBytes);
    const outcome = this.#execute(module, request, capture);
    return {
      ...outcome,
      output: toSandboxOutput(capture.kept(), request.limits.maxOutputBytes),
      wallMs: this.#clock.now() - startedAt,
    };
  }

  #load(): Promise<QuickJSWASMModule> {
    this.#module ??= newQuickJSWASMModuleFromVariant(this.#loadVariant());
    return this.#module;
  }

  #execute(module: QuickJSWASMModule, request: SandboxRequest, capture: OutputCapture): Outcome {
    if (request.signal.aborted) return { ok: false, code: "exec_cancelled", message: "cancelled before it began" };
    const stop = new StopSwitch(request, this.#clock);
    try {
      const outcome = runOnce(module, request, capture, stop);
      if (!outcome.ok && outcome.code === "exec_memory") this.#module = null;
      return outcome;
    } catch (error) {
      // The module itself failed (its own stack, an abort): nothing in it can be trusted for another run.
      this.#module = null;
      return { ok: false, ...(stop.failure() ?? moduleFailure(error)) };
    }
  }
}

function moduleFailure(error: unknown): ExecFailure {
  if (error instanceof RangeError) return { code: "exec_stack", message: "the code recursed too deeply" };
  const reason = error instanceof Error ? error.message : String(error);
  const code: SandboxFailureCode = /memory/i.test(reason) ? "exec_memory" : "exec_error";
  return { code, message: `the sandbox stopped: ${reason}` };
}

/** Why the interrupt handler ended a run. It cannot be caught by the code, and it overrides whatever else happened. */
class StopSwitch {
  readonly #request: SandboxRequest;
  readonly #clock: Clock;
  readonly #deadline: number;
  #ticks = 0;
  #reason: "timeout" | "cancelled" | null = null;

  constructor(request: SandboxRequest, clock: Clock) {
    this.#request = request;
    this.#clock = clock;
    this.#deadline = clock.now() + request.limits.timeoutMs;
  }

  check(): boolean {
    this.#ticks += 1;
    if (this.#request.signal.aborted) this.#reason ??= "cancelled";
    else if (this.#clock.now() >= this.#deadline || this.#ticks > this.#request.limits.timeoutMs * TICKS_PER_MS) this.#reason ??= "timeout";
    return this.#reason !== null;
  }

  failure(): ExecFailure | null {
    if (this.#reason === "timeout") return { code: "exec_timeout", message: `the code ran longer than ${this.#request.limits.timeoutMs} ms` };
    return this.#reason === "cancelled" ? { code: "exec_cancelled", message: "cancelled" } : null;
  }
}

function runOnce(module: QuickJSWASMModule, request: SandboxRequest, capture: OutputCapture, stop: StopSwitch): Outcome {
  const runtime = module.newRuntime({ memoryLimitBytes: request.limits.memoryBytes, maxStackSizeBytes: STACK_BYTES });
  const context = runtime.newContext();
  const held: QuickJSHandle[] = [];
  const hold = (handle: QuickJSHandle): QuickJSHandle => {
    held.push(handle);
    return handle;
  };
  try {
    const prelude = hold(context.unwrapResult(context.evalCode(`(${PRELUDE_SOURCE})`, "prelude.js")));
    const primitives = hold(createPrimitives(context, request, (text) => capture.print(text)));
    const encode = hold(context.unwrapResult(context.callFunction(prelude, context.undefined, primitives)));
    runtime.setInterruptHandler(() => stop.check());
    const settled = settle(context, request.code, stop, hold);
    if (!settled.ok) return refused(context, settled.thrown, stop);
    const encoded = context.callFunction(encode, context.undefined, settled.value);
    if (encoded.error !== undefined) return refused(context, hold(encoded.error), stop);
    return parseValue(context.getString(hold(encoded.value)));
  } finally {
    for (const handle of held.toReversed()) handle.dispose();
    context.dispose();
    runtime.dispose();
  }
}

type Settled = { readonly ok: true; readonly value: QuickJSHandle } | { readonly ok: false; readonly thrown: QuickJSHandle | null };

/** Evaluates the code as the body of an async function and pumps its jobs. `thrown` is null when it never settles. */
function settle(context: QuickJSContext, code: string, stop: StopSwitch, hold: (handle: QuickJSHandle) => QuickJSHandle): Settled {
  // On one line with the code, so that line numbers in errors are those of the code.
  const started = context.evalCode(`(async () => { "use strict"; ${code}\n})()`, FILE_NAME, { strict: true });
  if (started.error !== undefined) return { ok: false, thrown: hold(started.error) };
  const promise = hold(started.value);
  while (context.runtime.hasPendingJob() && !stop.check()) {
    const turn = context.runtime.executePendingJobs(JOBS_PER_TURN);
    if (turn.error !== undefined) return { ok: false, thrown: hold(turn.error) };
  }
  const state = context.getPromiseState(promise);
  if (state.type === "pending") return { ok: false, thrown: null };
  if (state.type === "rejected") return { ok: false, thrown: hold(state.error) };
  return { ok: true, value: state.notAPromise === true ? state.value : hold(state.value) };
}

function refused(context: QuickJSContext, thrown: QuickJSHandle | null, stop: StopSwitch): Outcome {
  // Room to read the error: its own allocation may be what failed. The interrupt handler still bounds its getters.
  context.runtime.setMemoryLimit(-1);
  const failure = stop.failure() ?? toExecFailure(thrown === null ? null : readThrown(context, thrown), FILE_NAME);
  return { ok: false, ...failure };
}

function readThrown(context: QuickJSContext, thrown: QuickJSHandle): ThrownValue {
  if (context.typeof(thrown) !== "object") return { name: null, message: context.getString(thrown), stack: "" };
  const text = (key: string): string => context.getProp(thrown, key).consume((handle) => (context.typeof(handle) === "string" ? context.getString(handle) : ""));
  return { name: text("name"), message: text("message"), stack: text("stack") };
}

function parseValue(text: string): Outcome {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false, code: "exec_output_invalid", message: "the returned value is not JSON" };
  }
}
