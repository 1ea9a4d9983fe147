import { describe, expect, test } from "vitest";
import { finishNotice } from "#kernel/finish-notice.ts";

describe("what a user is told of a run's end", () => {
  test("[K28] an unqualified answer needs no words, every other finish has its own", () => {
    expect(finishNotice("stop")).toBeNull();
    expect(finishNotice(null)).toBeNull();
    expect(finishNotice("toString")).toBeNull();
    const finishes = ["length", "content_filter", "empty_output", "loop_guard", "step_cap"];
    const notices = finishes.map(finishNotice);
    expect(notices.filter((notice) => notice === null)).toEqual([]);
    expect(new Set(notices).size).toBe(finishes.length);
  });
});
