/**
 * Explains a run from its log alone: per step the exact prompt, what the model chose, what was called under which
 * verdicts, who approved, what it cost, each with the event that says so (H20 to H24).
 *
 * A page ends at the beginning of a step, so a step is never cut; erased content is null and counted, never guessed.
 */
import type { EventLog } from "#ports/event-log.ts";
import type { EventNote, ExplanationView, StepView } from "#ports/audit-views.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Pin } from "#kernel/state.ts";
import { StepBuilder, toNote, toPlace } from "./explain-step.ts";
import { findPin, rebuildRequest, type FoundPin } from "./rebuild-prompt.ts";

export interface ExplainRequest {
  readonly runId: string;
  /** Of its first input, and of its last event where it has ended. */
  readonly startSeq: number;
  readonly endSeq: number | null;
  /** `next` of the page before; 0 for the first. */
  readonly after: number;
  /** Most steps. */
  readonly limit: number;
  /** Manifests that live in the state at the log's base, where their events were pruned (H45). */
  readonly pins?: readonly Pin[];
}

/** A page is given out at the next step once it has read this much. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const SLICE = 50;
/** How far behind a run's end late results and corrections are looked for. */
const LATER = 500;

type ThreadLog = Pick<EventLog<ThreadEvents>, "logId" | "head" | "get" | "read">;

export function explainRun(
  log: ThreadLog,
  hasher: Hasher,
  request: ExplainRequest,
): ExplanationView {
  const page = new Page(log, hasher, request);
  const { runId, startSeq, endSeq, after } = request;
  const isFirst = after < startSeq;
  const to = endSeq ?? log.head().seq;
  const next = page.read(isFirst ? startSeq : after + 1, to);
  const end = next === null && endSeq !== null ? log.get(endSeq) : null;
  return {
    logId: log.logId,
    runId,
    inputs: isFirst ? page.inputs() : [],
    pin: isFirst ? page.pin() : null,
    steps: page.steps(),
    end: end === null ? null : toNote(end),
    later: end === null ? [] : page.later(to),
    erased: page.erased,
    next,
  };
}

class Page {
  readonly #log: ThreadLog;
  readonly #hasher: Hasher;
  readonly #request: ExplainRequest;
  #pin: FoundPin | null = null;
  #started: Extract<ThreadEvent, { readonly type: "run.started" }> | null = null;
  readonly #steps = new Map<number, StepBuilder>();
  #bytes = 0;
  erased = 0;

  constructor(log: ThreadLog, hasher: Hasher, request: ExplainRequest) {
    this.#log = log;
    this.#hasher = hasher;
    this.#request = request;
  }

  /** The seq before the first step that does not fit; null when the run is read to its end. */
  read(from: number, to: number): number | null {
    let expected = from;
    while (expected <= to) {
      const slice = this.#log.read({ from: expected, to, limit: SLICE });
      for (const event of slice) {
        if (this.#isOver(event)) return event.header.seq - 1;
        this.#take(event);
      }
      const last = slice.at(-1);
      if (last === undefined) return null;
      expected = last.header.seq + 1;
    }
    return null;
  }

  steps(): readonly StepView[] {
    return [...this.#steps.values()].map((step) => step.view());
  }

  inputs(): readonly EventNote[] {
    return (this.#started?.payload?.inputs ?? []).flatMap((seq) => {
      const event = this.#log.get(seq);
      return event === null ? [] : [toNote(this.#counted(event))];
    });
  }

  pin(): ExplanationView["pin"] {
    if (this.#pin === null) return null;
    const { seq, definition, manifest } = this.#pin;
    const event = this.#log.get(seq);
    return event === null
      ? null
      : { ...toPlace(event), definition, manifest: manifest as unknown as EventNote["payload"] };
  }

  later(end: number): readonly EventNote[] {
    const events = this.#log.read({ from: end + 1, limit: LATER });
    return events
      .filter(({ header }) => header.run === this.#request.runId)
      .map((event) => toNote(this.#counted(event)));
  }

  #take(event: ThreadEvent): void {
    const { run, step, cause } = event.header;
    // A late decision is an event of the thread; it belongs to the approval that it came too late for.
    const isOfRun = run === this.#request.runId;
    if (!isOfRun && event.type !== "approval.refused") return;
    if (event.type === "run.started") this.#started = event;
    if (event.type === "run.started" || event.type === "model.requested")
      this.#pin ??= findPin(this.#log, event, this.#request.pins);
    const builder = isOfRun
      ? this.#builder(step)
      : [...this.#steps.values()].find((each) => each.hasApproval(cause));
    if (builder === null || builder === undefined) return;
    this.#bytes += event.header.payload.bytes;
    builder.take(this.#counted(event), (request) =>
      rebuildRequest(this.#log, this.#hasher, { event: request, pin: this.#pin }),
    );
  }

  #builder(step: number | null): StepBuilder | null {
    if (step === null) return null;
    const known = this.#steps.get(step);
    if (known !== undefined) return known;
    const made = new StepBuilder(step);
    this.#steps.set(step, made);
    return made;
  }

  #isOver({ type, header }: ThreadEvent): boolean {
    const { run, step } = header;
    const begins = type === "model.requested" && run === this.#request.runId && step !== null;
    if (!begins || this.#steps.has(step) || this.#steps.size === 0) return false;
    return this.#steps.size >= this.#request.limit || this.#bytes > MAX_PAGE_BYTES;
  }

  #counted(event: ThreadEvent): ThreadEvent {
    if (event.payload === null) this.erased += 1;
    return event;
  }
}
