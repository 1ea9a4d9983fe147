/** Who is told of a run: what a round reads, and what becomes of who was told everything. */
import { expect, it } from "vitest";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { PushShelf, type StoredPush } from "#durable-objects/agent/push/push-shelf.ts";

const push = (configId: string, more: Partial<StoredPush> = {}): StoredPush => ({
  runId: "run_1",
  configId,
  target: { url: "https://example.com/", token: null, authentication: null },
  origin: "https://agents.example.com",
  seq: 0,
  state: null,
  failed: 0,
  notBefore: 0,
  over: false,
  ...more,
});

function open(): PushShelf {
  const database = new NodeSqlite();
  database.exec("CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT) STRICT");
  return new PushShelf(database);
}

it("[P98] who was told everything is listed still, and in no later round", () => {
  const shelf = open();
  shelf.put(push("a"));
  shelf.put(push("b"));
  shelf.put(push("c", { runId: "run_10" }));
  shelf.advance(push("a"), push("a", { seq: 9, over: true }));
  expect(
    shelf
      .live()
      .map(({ configId }) => configId)
      .toSorted(),
  ).toEqual(["b", "c"]);
  expect(shelf.ofRun("run_1").map(({ configId, over }) => [configId, over])).toEqual([
    ["a", true],
    ["b", false],
  ]);
});

it("[P98] one that was replaced or dropped while it was told stays so", () => {
  const shelf = open();
  shelf.put(push("a"));
  shelf.put(push("a", { seq: 5 }));
  shelf.advance(push("a"), push("a", { seq: 9, over: true }));
  expect(shelf.ofRun("run_1")).toEqual([push("a", { seq: 5 })]);
  expect(shelf.drop("run_1", "a")).toBe(true);
  shelf.advance(push("a", { seq: 5 }), push("a", { seq: 9 }));
  expect(shelf.ofRun("run_1")).toEqual([]);
  expect(shelf.drop("run_1", "a")).toBe(false);
});

it("[P98] one that was told everything is put again as a new one, and counted once", () => {
  const shelf = open();
  for (let index = 0; index < 10; index += 1) shelf.put(push(`c${index}`));
  shelf.advance(push("c0"), push("c0", { over: true }));
  expect(shelf.put(push("c10"))).toBe(false);
  expect(shelf.put(push("c0"))).toBe(true);
  expect(shelf.ofRun("run_1")).toHaveLength(10);
  expect(shelf.live()).toHaveLength(10);
});
