import { describe, expect, it } from "vitest";
import type { ThreadEvents } from "#kernel/events.ts";
import type { StoredEvent } from "#ports/event-log.ts";
import type { WorkspaceLimits } from "#ports/workspace.ts";
import { CHUNK_BYTES, SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { FilesProjection } from "#adapters/projections/files-projection.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { SqliteWorkspace } from "#adapters/workspace/sqlite-workspace.ts";
import { migrate } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { nodeSha256, textOf } from "#test/support/memory-files.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function open(limits?: WorkspaceLimits) {
  const sql = new NodeSqlite();
  expect(migrate(sql, OBJECT_MIGRATIONS, nodeSha256).ok).toBe(true);
  const blobs = new SqliteBlobStore(sql);
  const store = new SqliteWorkspace({
    sql,
    blobs,
    hasher: nodeSha256,
    clock: { now: () => 5 },
    ...(limits === undefined ? {} : { limits }),
  });
  const files = new FilesProjection(sql);
  let seq = 0;
  /** What the gate does at an outcome: store content, then append the events, in one transaction. */
  const commit = (changes: Parameters<typeof store.commit>[0]): StoredEvent<ThreadEvents>[] =>
    sql.transaction(() => {
      const events = store.commit(changes).map(({ type, ...payload }) => {
        seq += 1;
        return {
          type: type === "written" ? "file.written" : "file.deleted",
          header: { seq, at: 1_000 + seq },
          hash: "",
          payload,
        } as unknown as StoredEvent<ThreadEvents>;
      });
      for (const event of events) files.apply(event);
      return events;
    });
  return { sql, blobs, store, files, commit };
}

describe("sqlite workspace", () => {
  it("E10 [T4] reads of a file at the limit only the chunks that a range touches", () => {
    const { sql, store, commit } = open();
    const size = 32 * 1024 * 1024;
    const content = new Uint8Array(size).map((_, index) => index % 251);
    commit([{ type: "write", path: "big.bin", content }]);
    const chunkReads: unknown[] = [];
    const exec = sql.exec.bind(sql);
    sql.exec = (statement, ...params) => {
      if (statement.includes("FROM blob_chunks")) chunkReads.push(params[1]);
      return exec(statement, ...params);
    };
    const middle = store.reader.read("big.bin", { offset: 28_000_000, limit: 1_000 });
    expect(middle).toEqual(content.slice(28_000_000, 28_001_000));
    expect(chunkReads).toEqual([Math.floor(28_000_000 / CHUNK_BYTES)]);
    chunkReads.length = 0;
    const border = store.reader.read("big.bin", { offset: CHUNK_BYTES - 1, limit: 2 });
    expect(border).toEqual(content.slice(CHUNK_BYTES - 1, CHUNK_BYTES + 1));
    expect(chunkReads).toEqual([0, 1]);
    chunkReads.length = 0;
    expect(store.reader.read("big.bin", { offset: size, limit: 1_000 })).toHaveLength(0);
    expect(store.reader.stat("big.bin")?.bytes).toBe(size);
    expect(chunkReads).toEqual([]);
  });

  it("[T6] shows changes only once their events are applied, and their content byte for byte", () => {
    const { store, commit } = open();
    const session = store.session();
    const large = new Uint8Array(1_500_000).map((_, index) => index % 251);
    session.write("a.txt", bytes("alpha"));
    session.write("big.bin", large);
    expect(store.reader.list()).toEqual([]);
    commit(session.changes());
    expect(
      store.reader.list().map(({ path, bytes: size, updatedAt }) => [path, size, updatedAt]),
    ).toEqual([
      ["a.txt", 5, 1_001],
      ["big.bin", 1_500_000, 1_002],
    ]);
    expect(store.reader.stat("a.txt")?.digest).toBe(nodeSha256.sha256(bytes("alpha")));
    expect(Buffer.from(store.reader.read("big.bin") ?? []).equals(Buffer.from(large))).toBe(true);
    expect(store.reader.read("big.bin", { offset: 600_000, limit: 5 })).toEqual(
      large.slice(600_000, 600_005),
    );
  });

  it("[T6] a transaction that rolls back leaves neither rows nor content", () => {
    const { sql, blobs, store, commit } = open();
    const session = store.session();
    session.write("a.txt", bytes("alpha"));
    expect(() =>
      sql.transaction(() => {
        commit(session.changes());
        throw new RangeError("the append failed");
      }),
    ).toThrow("the append failed");
    expect(store.reader.list()).toEqual([]);
    expect(blobs.has(nodeSha256.sha256(bytes("alpha")))).toBe(false);
  });

  it("[T6] deleting and replacing keep the content that older events name", () => {
    const { blobs, store, commit } = open();
    commit([{ type: "write", path: "a", content: bytes("one") }]);
    commit([{ type: "write", path: "a", content: bytes("two") }]);
    expect(textOf(store.reader, "a")).toBe("two");
    expect(
      commit([
        { type: "delete", path: "a" },
        { type: "delete", path: "never" },
      ]),
    ).toHaveLength(1);
    expect(store.reader.stat("a")).toBeNull();
    for (const text of ["one", "two"]) expect(blobs.has(nodeSha256.sha256(bytes(text)))).toBe(true);
  });

  it("[T6] applying the events again gives the same files", () => {
    const { store, files, commit } = open();
    const events = [
      ...commit([
        { type: "write", path: "a", content: bytes("one") },
        { type: "write", path: "b", content: bytes("b") },
      ]),
      ...commit([{ type: "delete", path: "a" }]),
    ];
    const before = store.reader.list();
    files.reset(0);
    expect(store.reader.list()).toEqual([]);
    for (const event of events) files.apply(event);
    expect(store.reader.list()).toEqual(before);
  });

  it("[T8] two effects that staged side by side cannot pass a quota together: the second commit changes nothing", () => {
    const { blobs, store, commit } = open({ maxFileBytes: 10, maxTotalBytes: 12, maxFiles: 5 });
    const [first, second] = [store.session(), store.session()];
    first.write("a", bytes("12345678"));
    second.write("b", bytes("abcdefgh"));
    commit(first.changes());
    expect(() => commit(second.changes())).toThrow(
      expect.objectContaining({ code: "workspace_full" }),
    );
    expect(store.reader.list().map((stat) => stat.path)).toEqual(["a"]);
    expect(blobs.has(nodeSha256.sha256(bytes("abcdefgh")))).toBe(false);
  });

  it("[T7] commit refuses a path that no session could have staged", () => {
    const { commit } = open();
    expect(() => commit([{ type: "write", path: "../a", content: bytes("x") }])).toThrow(
      expect.objectContaining({ code: "file_path_invalid" }),
    );
  });

  it("[T7] a prefix is text, never a pattern", () => {
    const { store, commit } = open();
    commit(
      ["a_b", "axb", "a%", "A_b"].map((path) => ({ type: "write", path, content: bytes("") })),
    );
    expect(store.reader.list("a_").map((stat) => stat.path)).toEqual(["a_b"]);
    expect(store.reader.list("a%").map((stat) => stat.path)).toEqual(["a%"]);
  });
});
