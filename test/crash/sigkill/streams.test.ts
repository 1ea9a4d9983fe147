/**
 * Kill -9 in the middle of a stream of each protocol: its reader comes back by that protocol's own means. Nothing is lost or
 * told twice, and the answer is what it is without a kill.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";
import { nothingTold, READERS, type Told } from "../../support/protocol-readers.ts";

const WORDS = 120;
const QUESTION = `slow ${WORDS}`;
const ANSWER = Array.from({ length: WORDS }, (_, word) => `w${word + 1} `).join("");

let server: DevServer;

beforeAll(async () => {
  server = await createDevServer({ main: "test/support/sockets-worker.ts" });
  await server.start();
});
afterAll(() => server.dispose());

describe("a server killed in the middle of its streams", () => {
  const told = new Map<string, Told>();

  beforeAll(async () => {
    const reading = Object.entries(READERS).map(([name, read]) => {
      const own = nothingTold();
      told.set(name, own);
      return read(server, QUESTION, own);
    });
    // Each is well into its answer, and far from its end.
    const begun = (): void => {
      for (const { text, progress } of told.values())
        expect([text, ...progress].join("")).toMatch(/w3 |step 1/);
    };
    await vi.waitFor(begun, { timeout: 60_000, interval: 20 });
    for (const { text, ended } of told.values()) {
      expect(text).not.toContain(`w${WORDS} `);
      expect(ended).toBeNull();
    }
    await server.kill();
    await server.start();
    await Promise.all(reading);
  });

  it.each(Object.keys(READERS))(
    "[P2] [P27] [P64] [P72] [P94] [P106] %s: its reader ends with the whole answer",
    (name) => {
      const { text, ended, connections, ids } = told.get(name)!;
      expect(text).toBe(ANSWER);
      expect(ended).not.toBeNull();
      expect(connections).toBeGreaterThan(1);
      // Ids rise: what was told is not told again, and what was missed comes before what follows.
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    },
  );

  it("[P106] MCP: progress that was told before the kill is not told again", () => {
    expect(told.get("MCP")?.progress).toEqual(["step 1: add"]);
  });

  it("[K2] no run was begun twice", async () => {
    const headers = { authorization: `Bearer ${server.key}` };
    const list = await fetch(`${server.url}/v1/agents/obeys/threads?limit=50`, { headers });
    const { items } = await list.json<{ items: readonly { thread: string }[] }>();
    expect(items).toHaveLength(told.size);
    for (const { thread } of items) {
      const path = `${server.url}/v1/agents/obeys/threads/${thread}/runs`;
      const response = await fetch(path, { headers });
      const runs = await response.json<{ items: readonly object[] }>();
      expect(runs.items).toMatchObject([{ status: "completed", text: ANSWER }]);
    }
  });
});
