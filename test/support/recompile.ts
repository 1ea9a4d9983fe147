/** Rebuilds every request of a log from its recorded references alone (K10) and compares digests (K11). */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import type { PromptRef, ThreadEvent } from "#kernel/events.ts";
import { PromptCompiler, type CompiledPrompt } from "#kernel/prompt.ts";
import { resolveRefs } from "#kernel/window.ts";

const HASHER = new NodeHasher();

export interface Rebuilt {
  readonly seq: number;
  readonly recorded: string;
  readonly compiled: CompiledPrompt;
}

/** Each with a fresh compiler: nothing but the log helps it. */
export function recompile(events: readonly ThreadEvent[]): readonly Rebuilt[] {
  const rebuilt: Rebuilt[] = [];
  let last: { readonly seq: number; readonly refs: readonly PromptRef[] } | null = null;
  for (const event of events) {
    if (event.type !== "model.requested" || event.payload === null) continue;
    const { seq, run, definition } = event.header;
    const window = resolveRefs(event.payload.refs, last);
    if (window === null) throw new Error(`the references of request ${seq} do not resolve`);
    last = { seq, refs: window };
    const pin = events.find(
      (other) => other.type === "definition.pinned" && other.header.definition === definition,
    );
    const input = events.find(
      (other) => other.type === "input.received" && other.header.run === run,
    );
    if (pin?.type !== "definition.pinned" || pin.payload === null)
      throw new Error(`request ${seq} is not pinned`);
    const output = input?.type === "input.received" ? (input.payload?.output ?? null) : null;
    const compiler = new PromptCompiler(HASHER, (at) => events[at - 1] ?? null);
    const compiled = compiler.compile({
      manifest: pin.payload.manifest,
      definition: definition ?? "",
      output,
      window,
    });
    rebuilt.push({ seq, recorded: event.payload.digest, compiled });
  }
  return rebuilt;
}

/** Seqs of requests whose references give another prompt than was recorded. */
export function findUnrebuilt(events: readonly ThreadEvent[]): readonly number[] {
  return recompile(events).flatMap(({ seq, recorded, compiled }) =>
    compiled.digest === recorded ? [] : [seq],
  );
}
