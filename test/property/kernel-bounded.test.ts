/** What a step costs at step 2,000 is what it costs at step 10. */
import { describe, expect, test } from "vitest";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { KernelDriver } from "#test/support/kernel-driver.ts";
import { MANIFEST, toolPin } from "#test/support/kernel-fixture.ts";
import { FULL_EVERY, MAX_ENTRIES } from "#kernel/window.ts";

const size = (driver: KernelDriver): number =>
  JSON.stringify(THREAD_FOLD.dump(driver.state)).length;

function takeStep(driver: KernelDriver, index: number): void {
  driver.pumpAll();
  driver.answer({ text: `step ${index}`, calls: [{ name: "look" }, { name: "put" }] });
  driver.pumpAll();
  driver.finishTool({ output: `row ${index}, nothing of note. `.repeat(1 + (index % 5)) });
  driver.finishTool(index % 10 === 0 ? { plan: [{ text: `do ${index}`, status: "active" }] } : {});
}

describe("a run of 2,000 steps", () => {
  test("[K13] has a bounded state, window and request, and folds at a flat cost", () => {
    const driver = new KernelDriver({
      limits: { ...MANIFEST.limits, maxSteps: 3_000 },
      tools: [toolPin("look", "read", 5_000), toolPin("put", "idempotent", 5_000)],
    }).create();
    driver.send("go");
    const sizes: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      takeStep(driver, i);
      if (i % 50 === 0) sizes.push(size(driver));
      expect(driver.state.window.length).toBeLessThanOrEqual(MAX_ENTRIES + 4);
    }
    const warm = Math.max(...sizes.slice(5, 20));
    expect(Math.max(...sizes)).toBeLessThan(warm * 1.2);
    const widest = Math.max(
      ...driver.events.map((event) =>
        event.type === "model.requested" ? JSON.stringify(event.payload).length : 0,
      ),
    );
    expect(widest).toBeLessThan(MAX_ENTRIES * 20);
    const fulls = driver.events.flatMap((event) =>
      event.type === "model.requested" ? [event.payload?.refs.base === null] : [],
    );
    expect(fulls.map(String).join("")).not.toContain("false".repeat(FULL_EVERY));
    expect(fulls.filter((isFull) => !isFull).length).toBeGreaterThan(fulls.length / 2);
    // Exact counts, not clocks: what evolve walks is the window, and that is as long at the end as near the start.
    const windowAt = (seq: number): number =>
      driver.events.slice(0, seq).reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial()).window.length;
    expect(windowAt(driver.events.length)).toBeLessThanOrEqual(
      Math.max(windowAt(2_000), windowAt(2_400)) * 1.5,
    );
  });

  test("[K13] is bounded where no request ever trims: 3,000 messages, each cancelled", () => {
    const driver = new KernelDriver().create();
    for (let i = 0; i < 3_000; i += 1) {
      const sent = driver.send(`message ${i}`);
      if (sent.ok) driver.cancel(sent.value.runId ?? "");
    }
    expect(driver.state.window.length).toBeLessThanOrEqual(2 * MAX_ENTRIES);
    expect(size(driver)).toBeLessThan(100_000);
  });
});
