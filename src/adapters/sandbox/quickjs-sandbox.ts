/**
 * QuickJsSandbox: JavaScript in a QuickJS virtual machine inside WebAssembly, for every place where the platform itself
 * cannot stop a loop: local workerd, and plain Node.
 *
 * S1 a new WebAssembly instance for each run, with ECMAScript intrinsics and the prelude's globals, nothing else.
 * S2 an interrupt handler stops it by deadline and by tick count. Memory is bounded by the instance's own maximum: the
 * limit of the virtual machine counts only 8 bytes an allocation in this build.
 * The run is synchronous: it holds the event loop for up to `timeoutMs`, so keep that low. Known gap: loops inside one
 * native call (`indexOf` on a sparse array of 2^32) are not interrupted; see docs/decisions/0002-run-code-sandbox.md.
 */
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from "quickjs-emscripten-core";
import type { Clock } from "#ports/clock.ts";
import type { Sandbox, SandboxFailureCode, SandboxRequest, SandboxResult } from "#ports/sandbox.ts";
import { OutputCapture, toSandboxOutput } from "#sandbox/output.ts";
import { PRELUDE_SOURCE } from "#sandbox/prelude.ts";
import {
  parseExecValue,
  toExecFailure,
  type ExecFailure,
  type ExecOutcome,
  type ThrownValue,
} from "#sandbox/exec-outcome.ts";
import { createPrimitives } from "./quickjs-primitives.ts";

/** The WebAssembly of this host: read and compiled in Node, imported in workerd, which compiles nothing at run time. */
export interface QuickJsBinary {
  readonly variant: QuickJSSyncVariant;
  readonly wasmModule: WebAssembly.Module;
}
type BinaryLoader = () => QuickJsBinary | Promise<QuickJsBinary>;

/** 512 KiB overflows the stack of the WebAssembly module itself, which then throws instead of ending cleanly. */
const STACK_BYTES = 128 * 1024;
/**
 * Where the clock stands still while code runs, ticks are the only bound. A tick takes 40 us at the very least, so this
 * never ends a run before its deadline.
 */
const TICKS_PER_MS = 50;
const PAGE_BYTES = 64 * 1024;
/** What the module declares: 16 MiB, the least memory it can be given. */
const MIN_PAGES = 256;
/** Growth goes in steps of a fifth, so the last step may not fit. */
const NEARLY_FULL = 0.8;
const JOBS_PER_TURN = 1_000;
const FILE_NAME = "code.js";

export interface QuickJsSandboxOptions {
  readonly clock?: Clock;
}

/** `load` is called once, with the first run. */
export function createQuickJsSandbox(
  load: BinaryLoader,
  options: QuickJsSandboxOptions = {},
): Sandbox {
  return new QuickJsSandbox(load, options.clock ?? { now: () => Date.now() });
}

class QuickJsSandbox implements Sandbox {
  readonly id = "quickjs@1";
  readonly #load: BinaryLoader;
  readonly #clock: Clock;
  #binary: Promise<QuickJsBinary> | null = null;

  constructor(load: BinaryLoader, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    const machine = await this.#instantiate(request.limits.memoryBytes);
    const startedAt = this.#clock.now();
    const capture = new OutputCapture(request.limits.maxOutputBytes);
    const outcome = this.#execute(machine, request, capture);
    return {
      ...outcome,
      output: toSandboxOutput(capture.kept(), request.limits.maxOutputBytes),
      wallMs: this.#clock.now() - startedAt,
    };
  }

  async #instantiate(memoryBytes: number): Promise<Machine> {
    this.#binary ??= Promise.resolve(this.#load());
    const { variant, wasmModule } = await this.#binary;
    const maximum = Math.max(MIN_PAGES, Math.floor(memoryBytes / PAGE_BYTES));
    const wasmMemory = new WebAssembly.Memory({ initial: MIN_PAGES, maximum });
    const module = await newQuickJSWASMModuleFromVariant(
      newVariant(variant, { wasmModule, wasmMemory }),
    );
    return {
      module,
      isFull: () => wasmMemory.buffer.byteLength >= maximum * PAGE_BYTES * NEARLY_FULL,
    };
  }

  #execute(machine: Machine, request: SandboxRequest, capture: OutputCapture): ExecOutcome {
    if (request.signal.aborted)
      return { ok: false, code: "exec_cancelled", message: "cancelled before it began" };
    const stop = new StopSwitch(request, this.#clock);
    try {
      return runOnce({ machine, request, capture, stop });
    } catch (error) {
      // The instance itself failed: its own stack, or memory that its host functions needed.
      return { ok: false, ...(stop.failure() ?? moduleFailure(error)) };
    }
  }
}

function moduleFailure(error: unknown): ExecFailure {
  if (error instanceof RangeError)
    return { code: "exec_stack", message: "the code recursed too deeply" };
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
    else if (
      this.#clock.now() >= this.#deadline ||
      this.#ticks > this.#request.limits.timeoutMs * TICKS_PER_MS
    )
      this.#reason ??= "timeout";
    return this.#reason !== null;
  }

  failure(): ExecFailure | null {
    if (this.#reason === "timeout")
      return {
        code: "exec_timeout",
        message: `the code ran longer than ${this.#request.limits.timeoutMs} ms`,
      };
    return this.#reason === "cancelled" ? { code: "exec_cancelled", message: "cancelled" } : null;
  }
}

interface Machine {
  readonly module: QuickJSWASMModule;
  /** No more growth: what fails now fails for want of memory. */
  isFull(): boolean;
}

interface Attempt {
  readonly machine: Machine;
  readonly request: SandboxRequest;
  readonly capture: OutputCapture;
  readonly stop: StopSwitch;
}

/** Nothing is disposed: instance and memory are dropped as a whole, also after a failure that leaves objects behind. */
function runOnce({ machine, request, capture, stop }: Attempt): ExecOutcome {
  const runtime = machine.module.newRuntime({ maxStackSizeBytes: STACK_BYTES });
  const context = runtime.newContext();
  const prelude = context.unwrapResult(context.evalCode(`(${PRELUDE_SOURCE})`, "prelude.js"));
  const primitives = createPrimitives(context, request, (text) => capture.print(text));
  const encode = context.unwrapResult(context.callFunction(prelude, context.undefined, primitives));
  runtime.setInterruptHandler(() => stop.check());
  const settled = settle(context, request.code, stop);
  const refuse = (thrown: QuickJSHandle | null): ExecOutcome => {
    // Read before asking why it stopped: getters of the thrown object run under the interrupt handler too.
    const failure = toExecFailure(
      thrown === null ? null : readThrown(context, thrown, machine),
      FILE_NAME,
    );
    return { ok: false, ...(stop.failure() ?? failure) };
  };
  if (!settled.ok) return refuse(settled.thrown);
  const encoded = context.callFunction(encode, context.undefined, settled.value);
  if (encoded.error !== undefined) return refuse(encoded.error);
  return parseExecValue(context.getString(encoded.value));
}

type Settled =
  | { readonly ok: true; readonly value: QuickJSHandle }
  | { readonly ok: false; readonly thrown: QuickJSHandle | null };

/** Evaluates the code as the body of an async function and pumps its jobs. `thrown` is null when it never settles. */
function settle(context: QuickJSContext, code: string, stop: StopSwitch): Settled {
  // On one line with the code, so that line numbers in errors are those of the code.
  const started = context.evalCode(`(async () => { "use strict"; ${code}\n})()`, FILE_NAME, {
    strict: true,
  });
  if (started.error !== undefined) return { ok: false, thrown: started.error };
  const promise = started.value;
  while (context.runtime.hasPendingJob() && !stop.check()) {
    const turn = context.runtime.executePendingJobs(JOBS_PER_TURN);
    if (turn.error !== undefined) return { ok: false, thrown: turn.error };
  }
  const state = context.getPromiseState(promise);
  if (state.type === "pending") return { ok: false, thrown: null };
  if (state.type === "rejected") return { ok: false, thrown: state.error };
  return { ok: true, value: state.value };
}

/** A machine without memory for even the error throws null. */
function readThrown(context: QuickJSContext, thrown: QuickJSHandle, machine: Machine): ThrownValue {
  if (context.eq(thrown, context.null))
    return { name: null, message: machine.isFull() ? "out of memory" : "null", stack: "" };
  if (context.typeof(thrown) !== "object")
    return { name: null, message: context.getString(thrown), stack: "" };
  const text = (key: string): string =>
    context
      .getProp(thrown, key)
      .consume((handle) => (context.typeof(handle) === "string" ? context.getString(handle) : ""));
  return { name: text("name"), message: text("message"), stack: text("stack") };
}
