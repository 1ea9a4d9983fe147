/** The crash harness itself: what it kills is gone, what was acknowledged is there after a restart, and loss shows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevServer } from "../../support/dev-server.ts";
import { createDevServer } from "../../support/dev-server.ts";

const ROUNDS = 3;

interface Count {
  readonly count: number;
}

describe("the SIGKILL harness", () => {
  let server: DevServer;
  let acknowledged = 0;

  const read = async (): Promise<number> => {
    const response = await fetch(server.url);
    const { count }: Count = await response.json();
    return count;
  };
  /** Counts up until the server dies under it. */
  const countUntilKilled = async (): Promise<void> => {
    for (;;) {
      try {
        const response = await fetch(server.url, { method: "POST" });
        const { count }: Count = await response.json();
        acknowledged = count;
      } catch {
        return;
      }
    }
  };

  beforeAll(async () => {
    server = await createDevServer({ main: "test/support/counter-worker.ts" });
    await server.start();
  });
  afterAll(() => server.dispose());

  it("keeps every acknowledged write over kills in the middle of writing", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const target = acknowledged + 20;
      const counting = countUntilKilled();
      await expect
        .poll(() => acknowledged, { timeout: 30_000, interval: 5 })
        .toBeGreaterThan(target);
      await server.kill();
      await counting;
      await expect(fetch(server.url)).rejects.toThrow();
      await server.start();
      // One write may have been durable with its answer lost; never fewer than were acknowledged.
      const found = await read();
      expect([acknowledged, acknowledged + 1]).toContain(found);
      acknowledged = found;
    }
  });

  it("negative control: reports loss when the state is thrown away", async () => {
    expect(acknowledged).toBeGreaterThan(0);
    await server.kill();
    server.discardState();
    await server.start();
    expect(await read()).toBe(0);
  });
});
