/**
 * What must be true of one scripted run after any number of kills, from its exported log and from the counts outside.
 *
 * Answers with what is wrong instead of throwing, so that the negative control can ask for it.
 */
import type { ThreadEvents } from "#kernel/events.ts";
import type { EventHeader } from "#ports/event-log.ts";
import { finalText, scriptedCalls, STEPS } from "./crash-script.ts";
import type { Outside } from "./outside.ts";

export interface LoggedEvent {
  readonly type: string;
  readonly header: EventHeader;
  readonly hash: string;
  readonly payload: unknown;
}
export interface RunRecord {
  readonly run: string;
  /** From `readExport`; empty when there is none any more. */
  readonly events: readonly LoggedEvent[];
  readonly outside: Outside;
  /** Kills while the run was live. */
  readonly kills: number;
  /** Hashes of the events that a client was told about. */
  readonly acknowledged: readonly string[];
}

/** The lines of an export that are events: what a log holds, without when and by whom the file was written. */
export function eventLines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.startsWith('{"hash":'));
}

export function readExport(text: string): readonly LoggedEvent[] {
  return eventLines(text).map((line) => {
    const stored = JSON.parse(line) as { header: string; hash: string; payload: string | null };
    const header = JSON.parse(stored.header) as EventHeader;
    const bytes = stored.payload === null ? null : Buffer.from(stored.payload, "base64");
    return {
      type: header.type,
      header,
      hash: stored.hash,
      payload: bytes === null ? null : JSON.parse(bytes.toString("utf8")),
    };
  });
}

export function checkRun(record: RunRecord): readonly string[] {
  return [
    ...checkEnd(record),
    ...checkPairs(record),
    ...checkModel(record),
    ...checkTools(record),
  ].map((problem) => `${record.run}: ${problem}`);
}

type Payload<T extends keyof ThreadEvents> = ThreadEvents[T];
type Typed<T extends keyof ThreadEvents> = {
  readonly header: EventHeader;
  readonly payload: Payload<T>;
};

function allOf<T extends keyof ThreadEvents>(
  events: readonly LoggedEvent[],
  type: T,
): readonly Typed<T>[] {
  return events.filter((event) => event.type === type) as unknown as readonly Typed<T>[];
}

function checkEnd({ run, events, outside, acknowledged }: RunRecord): string[] {
  const problems: string[] = [];
  const known = new Set(events.map(({ hash }) => hash));
  const lost = acknowledged.filter((hash) => !known.has(hash));
  if (lost.length > 0) problems.push(`lost ${lost.length} acknowledged events`);
  const ends = events.filter(({ type }) =>
    ["run.completed", "run.failed", "run.cancelled"].includes(type),
  );
  const [completed] = allOf(events, "run.completed");
  if (ends.length !== 1 || completed === undefined)
    problems.push(`ended as [${ends.map(({ type }) => type).join(", ")}]`);
  else if (completed.payload.finish !== "stop" || completed.payload.text !== finalText(run))
    problems.push(`answered ${completed.payload.finish} ${JSON.stringify(completed.payload.text)}`);
  if (outside.refused.length > 0) problems.push(`sent an invalid history: ${outside.refused[0]}`);
  return problems;
}

/** G1: each intent has exactly one outcome. */
function checkPairs({ events }: RunRecord): string[] {
  const outcomes = new Map<string, number>();
  for (const { type, header } of events) {
    if (/^(?:model\.(?:answered|failed|interrupted)|tool\.(?:finished|interrupted))$/.test(type))
      outcomes.set(header.cause ?? "", (outcomes.get(header.cause ?? "") ?? 0) + 1);
  }
  const intents = events.filter(
    ({ type }) => type === "model.requested" || type === "tool.started",
  );
  return intents.flatMap(({ header }) => {
    const count = outcomes.get(header.id) ?? 0;
    return count === 1 ? [] : [`the ${header.type} of step ${header.step} has ${count} outcomes`];
  });
}

/** G5, G12: a recorded answer is not bought again, an attempt that a kill cut off is. */
function checkModel({ run, events, outside, kills }: RunRecord): string[] {
  const problems: string[] = [];
  const asked = outside.of(run).filter(({ what, point }) => what === "model" && point === "asked");
  const cutOff = allOf(events, "model.interrupted").length;
  const failed = allOf(events, "model.failed").length;
  if (failed > 0) problems.push(`${failed} model calls failed`);
  if (cutOff > kills) problems.push(`${cutOff} model calls were cut off by ${kills} kills`);
  if (asked.length > STEPS + 1 + cutOff)
    problems.push(`${asked.length} model calls, of which kills explain ${STEPS + 1 + cutOff}`);
  for (let step = 1; step <= STEPS + 1; step += 1) {
    const ofStep = (event: { readonly header: EventHeader }): boolean => event.header.step === step;
    const answers = allOf(events, "model.answered").filter(ofStep).length;
    const open = allOf(events, "model.interrupted").filter(ofStep).length;
    const count = asked.filter((moment) => moment.step === step).length;
    if (answers !== 1) problems.push(`step ${step} has ${answers} answers`);
    // An attempt may have been cut off after its intent and before its request left.
    if (count < 1 || count > 1 + open)
      problems.push(`step ${step} was asked ${count} times, cut off ${open} times`);
  }
  return problems;
}

interface Call {
  readonly tool: string;
  readonly step: number;
  readonly keys: ReadonlySet<string>;
  /** Attempts that a kill cut off. */
  readonly cutOff: number;
  readonly statuses: readonly string[];
  readonly executed: number;
}

function callsOf({ run, events, outside }: RunRecord): readonly Call[] {
  const started = allOf(events, "tool.started");
  return [...new Set(started.map(({ header }) => header.call))].map((call) => {
    const attempts = started.filter(({ header }) => header.call === call);
    const finished = allOf(events, "tool.finished").filter(({ header }) => header.call === call);
    const [first] = attempts;
    const keys = new Set(attempts.map(({ payload }) => payload.idempotencyKey));
    const closedBy = (cause: string): EventHeader | undefined =>
      events.find(({ header }) => header.cause === cause)?.header;
    const cutOff = attempts.filter(
      ({ header }) => (closedBy(header.id)?.epoch ?? 0) > header.epoch,
    ).length;
    return {
      tool: first?.payload.name ?? "",
      step: first?.header.step ?? 0,
      keys,
      cutOff,
      statuses: finished.map(({ payload }) => payload.result.status),
      executed: outside.of(run).filter(({ key, what, point }) => {
        return what !== "check" && point === "done" && keys.has(key ?? "");
      }).length,
    };
  });
}

/** G6 to G9, by the declared effect of each tool. */
function checkTools(record: RunRecord): string[] {
  const { run, events, outside, kills } = record;
  const problems: string[] = [];
  const calls = callsOf(record);
  const expected = scriptedCalls(run).map(({ tool, step }) => `${step} ${tool}`);
  const found = calls.map(({ tool, step }) => `${step} ${tool}`);
  if (expected.toSorted().join() !== found.toSorted().join())
    problems.push(`${found.length} calls instead of ${expected.length}`);
  for (const call of calls) problems.push(...checkCall(call));
  const cutOff = calls
    .filter(({ tool }) => tool !== "look")
    .reduce((sum, call) => sum + call.cutOff, 0);
  // A step makes at most two calls at a time, and the question of a reconcile tool is an attempt of its own.
  if (cutOff > 2 * kills) problems.push(`${cutOff} tool calls were cut off by ${kills} kills`);
  const keys = new Set(calls.flatMap((call) => [...call.keys]));
  const strangers = outside.of(run).filter(({ key }) => key !== null && !keys.has(key));
  if (strangers.length > 0) problems.push(`${strangers.length} effects outside are in no log`);
  const files = allOf(events, "file.written").length;
  const notes = expected.filter((each) => each.endsWith("note")).length;
  if (files !== notes) problems.push(`${files} file versions instead of ${notes}`);
  return problems;
}

function checkCall({ tool, step, keys, cutOff, statuses, executed }: Call): string[] {
  const what = `${tool} of step ${step}`;
  const problems: string[] = [];
  if (statuses.length !== 1) problems.push(`${what} has ${statuses.length} results`);
  if (keys.size !== 1) problems.push(`${what} has ${keys.size} keys`);
  const [status] = statuses;
  const isUnknown = tool === "pay" && cutOff > 0;
  if (status !== (isUnknown ? "unknown" : "ok"))
    problems.push(`${what} is ${status}, cut off ${cutOff} times`);
  const most = tool === "pay" || tool === "book" ? 1 : 1 + cutOff;
  const least = isUnknown ? 0 : 1;
  if (executed < least || executed > most)
    problems.push(`${what} happened ${executed} times, cut off ${cutOff} times`);
  return problems;
}
