/**
 * rebuildPrompt: the exact prompt of any recorded request, from the log alone (K10, K11).
 *
 * Follows the recorded references, compiles them again and compares digests. An erased text gives another digest, by
 * design; `intact` then says false and the messages show what is left.
 */
import type { EventLog } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { ModelRequest, OutputSpec } from "#ports/model.ts";
import type { Pin } from "#kernel/state.ts";
import type { PromptRef, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { followRefs } from "#kernel/follow-refs.ts";
import type { AgentManifest } from "#kernel/manifest.ts";
import {
  CHAINING_COMPILER,
  chainedDigest,
  COMPILER_VERSION,
  PromptCompiler,
} from "#kernel/prompt.ts";
import { err, ok, type Result } from "#shared/result.ts";

export interface RebuiltPrompt {
  readonly request: ModelRequest;
  readonly refs: readonly PromptRef[];
  readonly digest: string;
  /** As recorded in `model.requested`. */
  readonly recorded: string;
  readonly intact: boolean;
}
export type RebuildRefusal =
  | { readonly reason: "not_a_request" }
  | { readonly reason: "compiler_unknown"; readonly compiler: number }
  | { readonly reason: "references_broken" }
  | { readonly reason: "pin_missing" };

type ThreadLog = Pick<EventLog<ThreadEvents>, "get" | "read">;
const PAGE = 200;

export function rebuildPrompt(
  log: ThreadLog,
  hasher: Hasher,
  seq: number,
): Result<RebuiltPrompt, RebuildRefusal> {
  const event = log.get(seq);
  if (event?.type !== "model.requested" || event.payload === null)
    return err({ reason: "not_a_request" });
  return rebuildRequest(log, hasher, { event, pin: findPin(log, event) });
}

/** For whoever rebuilds many requests of one run, whose pin is one. */
export function rebuildRequest(
  log: ThreadLog,
  hasher: Hasher,
  { event, pin }: { readonly event: ModelRequested; readonly pin: FoundPin | null },
): Result<RebuiltPrompt, RebuildRefusal> {
  if (event.payload === null) return err({ reason: "not_a_request" });
  const { compiler, digest: recorded } = event.payload;
  if (compiler !== COMPILER_VERSION && compiler !== CHAINING_COMPILER)
    return err({ reason: "compiler_unknown", compiler });
  const read = remember((at) => log.get(at));
  const refs = followRefs(read, event);
  // What was pruned cannot be compiled; what was erased can, to another digest.
  if (refs === null || refs.some(([at]) => read(at) === null))
    return err({ reason: "references_broken" });
  if (pin === null) return err({ reason: "pin_missing" });
  const { manifest, definition, output } = pin;
  const compiled = new PromptCompiler(hasher, read).compile({
    manifest,
    definition,
    output,
    window: refs,
  });
  const { request } = compiled;
  const digest =
    compiler === COMPILER_VERSION ? compiled.digest : chainedDigest(hasher, pin, request.messages);
  return ok({ request, digest, refs, recorded, intact: digest === recorded });
}

type ModelRequested = Extract<ThreadEvent, { readonly type: "model.requested" }>;

function remember(read: (seq: number) => ThreadEvent | null): (seq: number) => ThreadEvent | null {
  const known = new Map<number, ThreadEvent | null>();
  return (seq) => {
    const event = known.get(seq) ?? read(seq);
    known.set(seq, event);
    return event;
  };
}

export interface FoundPin {
  /** Of `definition.pinned`. */
  readonly seq: number;
  readonly manifest: AgentManifest;
  readonly definition: string;
  readonly output: OutputSpec | null;
}

/**
 * The newest pin of the run's definition before the request, and the output that the run's first input asked for. `kept`
 * stand for pins whose events were pruned: a definition is the hash of its manifest, so one is as good as the other (H45).
 */
export function findPin(
  log: ThreadLog,
  event: ThreadEvent,
  kept: readonly Pin[] = [],
): FoundPin | null {
  const { definition, run } = event.header;
  if (definition === null) return null;
  let firstInput: number | null = null;
  for (let to = event.header.seq; to > 0; to -= PAGE) {
    for (const before of log.read({
      from: Math.max(1, to - PAGE + 1),
      to,
      limit: PAGE,
      reverse: true,
    })) {
      if (before.type === "run.started" && before.header.run === run)
        firstInput = before.payload?.inputs[0] ?? null;
      if (
        before.type === "definition.pinned" &&
        before.header.definition === definition &&
        before.payload !== null &&
        firstInput !== null
      ) {
        const { manifest } = before.payload;
        const { seq } = before.header;
        return { seq, manifest, definition, output: outputOf(log, firstInput) };
      }
    }
  }
  const pruned = kept.find((pin) => pin.definition === definition);
  if (pruned === undefined || firstInput === null) return null;
  const { seq, manifest } = pruned;
  return { seq, manifest, definition, output: outputOf(log, firstInput) };
}

function outputOf(log: ThreadLog, inputSeq: number): OutputSpec | null {
  const input = log.get(inputSeq);
  return input?.type === "input.received" ? (input.payload?.output ?? null) : null;
}
