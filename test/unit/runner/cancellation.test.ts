/** Cancelling and interrupting a run whose model call is open at a real HTTP provider. */
import { describe, expect, test } from "vitest";
import { OpenAiCompatibleModel } from "#adapters/model/openai-compatible-model.ts";
import { startProviderStub, type ProviderStub } from "#test/support/provider-stub.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

const SETTLES_WITHIN_MS = 1_000;

async function until(condition: () => boolean, within: number): Promise<number> {
  const began = Date.now();
  while (!condition()) {
    if (Date.now() - began > within) throw new Error(`not within ${within} ms`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return Date.now() - began;
}

async function streaming(stub: ProviderStub): Promise<ThreadHarness> {
  stub.play(
    { frames: [{ text: "half of an ans" }, { hang: true }] },
    { frames: [{ text: "at once" }, { finish: "stop" }] },
  );
  const model = new OpenAiCompatibleModel({
    baseUrl: stub.baseUrl,
    apiKey: "sk-test",
    name: "stub",
    modelId: "m",
    route: "openai-compatible/m",
  });
  const thread = new ThreadHarness({ model });
  thread.send("begin");
  return thread;
}

describe("an open request to a provider", () => {
  test("[K16] is closed within a second of the cancellation, and no other is made", async () => {
    await using stub = await startProviderStub();
    const thread = await streaming(stub);
    const driving = thread.runtime.drive();
    await until(() => stub.requests.length === 1, 5_000);
    expect(thread.cancel("run_1").ok).toBe(true);
    expect(thread.run("run_1").status).toBe("cancelled");
    await until(() => stub.abandoned() === 1, SETTLES_WITHIN_MS);
    expect(await driving).toEqual({ next: "idle" });
    expect(stub.requests).toHaveLength(1);
    expect(thread.types().slice(-3)).toEqual([
      "run.cancel_requested",
      "model.failed",
      "run.cancelled",
    ]);
    expect(thread.chainFault()).toBeNull();
  });

  test("[K40] is closed by a message that interrupts, whose own run asks at once and ends", async () => {
    await using stub = await startProviderStub();
    const thread = await streaming(stub);
    const driving = thread.runtime.drive();
    await until(() => stub.requests.length === 1, 5_000);
    const receipt = thread.send("rather this", { delivery: "interrupt" });
    expect(receipt).toMatchObject({ ok: true, value: { runId: "run_2", disposition: "started" } });
    await until(() => stub.abandoned() === 1, SETTLES_WITHIN_MS);
    await driving;
    expect(thread.run("run_1")).toMatchObject({ status: "cancelled", message: "interrupted" });
    expect(thread.run("run_2")).toMatchObject({ status: "completed", text: "at once" });
    expect(stub.requests).toHaveLength(2);
    expect(stub.refused).toEqual([]);
    expect(JSON.stringify(stub.requests[1]?.body)).not.toContain("half of an ans");
  });
});
