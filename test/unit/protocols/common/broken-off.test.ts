/**
 * A stream that breaks off says so with the place of what was told last: whoever goes on from there, as the protocols have it,
 * misses nothing and is told nothing again.
 */
import { expect, it } from "vitest";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { behind, isBrokenOff, RunWriter, seenText as seenByAgUi } from "#protocols/ag-ui/encode.ts";
import { openTurn, type TurnItem } from "#protocols/common/turn.ts";
import { seenText, toEvents, type ResponseFrame } from "#protocols/openai/response.ts";
import { trusted } from "#shared/ids.ts";
import { utf8, type Json } from "#shared/json.ts";

const RUN = "run_1";
const PLACE = { agent: trusted("obeys"), thread: trusted("thr_0"), run: trusted(RUN), seq: 1 };
const FRAME = {
  place: PLACE,
  createdAt: 1,
  previous: null,
  background: false,
  structured: false,
  format: null,
};

const at = (seq: number, attempt: number, offset: number) => ({ seq, attempt, offset });
const event = (seq: number, type: string, payload: Json): StreamFrame =>
  ({
    type: "event",
    cursor: { seq, attempt: 0, offset: 0 },
    event: { header: { type, run: RUN, step: 1, seq, id: `evt_${seq}` }, hash: "", payload },
  }) as unknown as StreamFrame;
const delta = (text: string): StreamFrame => ({
  type: "delta",
  cursor: { seq: 3, attempt: 1, offset: 0 },
  runId: RUN,
  step: 1,
  text,
});
const REQUESTED = event(3, "model.requested", {});
const ANSWER = {
  parts: [{ type: "text", text: "Hello there." }],
  usage: { inputTokens: 1, outputTokens: 1 },
};
const ANSWERED = event(4, "model.answered", ANSWER);
const COMPLETED = event(5, "run.completed", { finish: "stop", text: "", output: null });
/** What is left in the log of an attempt whose process died, and the one that followed it. */
const RESTARTED = [
  REQUESTED,
  event(4, "model.interrupted", {}),
  event(5, "model.requested", {}),
  { type: "discard", cursor: at(5, 2, 0), runId: RUN, step: 1, attempt: 2 },
  { type: "delta", cursor: at(5, 2, 12), runId: RUN, step: 1, text: "Hello there." },
  event(6, "model.answered", ANSWER),
  event(7, "run.completed", { finish: "stop", text: "", output: null }),
] as const satisfies readonly StreamFrame[];
const CUT = [REQUESTED, delta("Hel")];
const WHOLE = [REQUESTED, delta("Hello there."), ANSWERED, COMPLETED];

function itemsOf(frames: readonly StreamFrame[], seen: number | null): AsyncIterable<TurnItem> {
  const bytes = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8(bytes));
      controller.close();
    },
  });
  const from = { seq: 1, attempt: 0, offset: 0 };
  return openTurn(body, { runId: RUN, from, follow: true, whole: true, seen }).items;
}
interface Told {
  readonly number: number;
  readonly type: string;
  readonly delta: string;
}

async function responses(frames: readonly StreamFrame[], after: number): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const block of toEvents(
    itemsOf(frames, seenText(after)),
    FRAME as ResponseFrame,
    after,
  )) {
    const data = JSON.parse(block.slice(block.indexOf("data: ") + 6)) as {
      type: string;
      sequence_number: number;
      delta?: string;
    };
    told.push({ number: data.sequence_number, type: data.type, delta: data.delta ?? "" });
  }
  return told;
}

it("[P64] Responses: goes on behind a stream that broke off", async () => {
  const first = await responses(CUT, -1);
  expect(first.at(-1)).toMatchObject({ type: "error", number: first.at(-2)?.number });
  const rest = await responses(WHOLE, first.at(-1)!.number);
  expect([...first, ...rest].map((one) => one.delta).join("")).toBe("Hello there.");
  expect(rest.at(-1)?.type).toBe("response.completed");
  // Nothing new, and again broken off: the place is kept.
  const idle = await responses(CUT, first.at(-1)!.number);
  expect(idle).toEqual([{ type: "error", number: first.at(-1)!.number, delta: "" }]);
});

it("[P64] Responses: text of an attempt that died is closed as void before the model's next", async () => {
  const first = await responses(CUT, -1);
  const rest = await responses(RESTARTED, first.at(-1)!.number);
  expect(rest.map(({ type }) => type)).toEqual([
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  expect(rest.map((one) => one.delta).join("")).toBe("Hello there.");
  const fresh = await responses(RESTARTED, -1);
  expect(fresh.filter(({ type }) => type === "response.output_item.done")).toHaveLength(1);
});

async function agUi(frames: readonly StreamFrame[], after: number): Promise<readonly Told[]> {
  const seen = seenByAgUi(after);
  const writer = new RunWriter({
    threadId: "t",
    runId: "r",
    run: RUN,
    seq: 1,
    state: null,
    seen,
    after,
  });
  const numbered = [...writer.begin()];
  for await (const item of itemsOf(frames, seen)) numbered.push(...writer.read(item));
  return numbered.flatMap((one) => {
    const left = isBrokenOff(one) ? one : behind(one, after);
    if (left === null) return [];
    const { type, delta: text } = left.event as { type: string; delta?: string };
    return [{ number: left.number, type, delta: text ?? "" }];
  });
}

it("[P72] AG-UI: what is open when a stream breaks off is closed once, by its end", async () => {
  const first = await agUi(CUT, -1);
  expect(first.map(({ type }) => type)).toEqual([
    "RUN_STARTED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "RUN_ERROR",
  ]);
  const rest = await agUi(WHOLE, first.at(-2)!.number);
  expect([...first, ...rest].map((one) => one.delta).join("")).toBe("Hello there.");
  expect(rest.map(({ type }) => type)).toEqual([
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
});

it("[P72] AG-UI: text of an attempt that died is closed as void before the model's next", async () => {
  const first = await agUi(CUT, -1);
  const rest = await agUi(RESTARTED, first.at(-2)!.number);
  expect(rest.map(({ type }) => type)).toEqual([
    "TEXT_MESSAGE_END",
    "CUSTOM",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
  expect(rest.map((one) => one.delta).join("")).toBe("Hello there.");
  expect((await agUi(RESTARTED, -1)).filter(({ type }) => type === "CUSTOM")).toEqual([]);
});
