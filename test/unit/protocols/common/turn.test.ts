import { describe, expect, it } from "vitest";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { openTurn, type TurnItem } from "#protocols/common/turn.ts";
import { utf8, type Json } from "#shared/json.ts";

const RUN = "run_1";
const cursor = { seq: 1, attempt: 0, offset: 0 };
const event = (type: string, payload: Json, header: object = {}): StreamFrame =>
  ({
    type: "event",
    cursor,
    event: {
      header: { type, run: RUN, step: 1, seq: 1, id: "evt_a", ...header },
      hash: "",
      payload,
    },
  }) as unknown as StreamFrame;
const CALL = {
  type: "call",
  callId: "c1",
  providerCallId: "p",
  name: "look",
  argsText: "{}",
  args: {},
  refusal: null,
};
const answered = event("model.answered", { parts: [CALL] });
const asked = event("approval.requested", { version: "1", question: null }, { call: "c1" });
const decided = event(
  "approval.decided",
  { decision: "approved" },
  { call: "c1", cause: "evt_a", id: "evt_b" },
);
const finished = event("tool.finished", { result: { output: "x" } }, { call: "c1" });
const completed = event("run.completed", { finish: "stop", text: "", output: null });
const caughtUp: StreamFrame = { type: "caught_up", cursor };

async function ends(frames: readonly StreamFrame[], whole: boolean): Promise<readonly string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8(frames.map((frame) => `${JSON.stringify(frame)}\n`).join("")));
      controller.close();
    },
  });
  const turn = openTurn(body, { runId: RUN, from: cursor, follow: true, whole });
  const items: TurnItem[] = [];
  for await (const item of turn.items) items.push(item);
  return items.flatMap((item) => (item.type === "end" ? [item.end.type] : []));
}

describe("a turn", () => {
  it("[P72] read as a whole goes on over a wait that is over", async () => {
    expect(await ends([answered, asked, decided, finished, completed, caughtUp], true)).toEqual([
      "completed",
    ]);
  });

  it("[P72] read as a whole ends at a wait that nobody has decided yet, once all is read", async () => {
    expect(await ends([answered, asked, caughtUp], true)).toEqual(["waiting"]);
    expect(await ends([answered, caughtUp, asked], true)).toEqual(["waiting"]);
  });

  it("[P62] read as one response ends at its first wait, whatever was decided since", async () => {
    expect(await ends([answered, asked, decided, finished, completed], false)).toEqual(["waiting"]);
  });

  it("[P63] has one end", async () => {
    expect(await ends([completed, completed, caughtUp], true)).toEqual(["completed"]);
    expect(await ends([answered], true)).toEqual(["broken"]);
  });
});
