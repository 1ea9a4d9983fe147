import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkspaceLimits } from "#ports/workspace.ts";
import { memoryFiles, nodeSha256, textOf } from "#test/support/memory-files.ts";

const LIMITS: WorkspaceLimits = { maxFileBytes: 10, maxTotalBytes: 25, maxFiles: 3 };
const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(97);
const code = (expected: string) => expect.objectContaining({ code: expected });

describe("overlay", () => {
  it("[T6] reads its own changes before the committed files, and lists both once", () => {
    const files = memoryFiles({ "a.txt": "old", "b.txt": "b" });
    files.write("a.txt", new TextEncoder().encode("new!"));
    files.write("c/d.txt", bytes(2));
    expect(files.delete("b.txt")).toBe(true);
    expect(files.delete("b.txt")).toBe(false);
    expect(files.list().map((stat) => [stat.path, stat.bytes])).toEqual([
      ["a.txt", 4],
      ["c/d.txt", 2],
    ]);
    expect(files.list("c/").map((stat) => stat.path)).toEqual(["c/d.txt"]);
    expect(textOf(files, "a.txt")).toBe("new!");
    expect(files.stat("a.txt")?.digest).toBe(nodeSha256.sha256(new TextEncoder().encode("new!")));
    expect(files.read("b.txt")).toBeNull();
    expect(files.stat("b.txt")).toBeNull();
  });

  it("[T6] a file that was made and deleted again is no change", () => {
    const files = memoryFiles({ "a.txt": "a" });
    files.write("t.txt", bytes(1));
    files.delete("t.txt");
    expect(files.changes()).toEqual([]);
    files.delete("a.txt");
    files.write("a.txt", bytes(1));
    expect(files.changes()).toEqual([{ type: "write", path: "a.txt", content: bytes(1) }]);
  });

  it("[T6] what was staged does not change with the caller's buffer, nor with what was read", () => {
    const files = memoryFiles();
    const content = bytes(3);
    files.write("a", content);
    content.fill(0);
    files.read("a")?.fill(1);
    expect(files.read("a")).toEqual(bytes(3));
  });

  it("[T6] reads ranges of staged content as of committed content", () => {
    const files = memoryFiles({ committed: "0123456789" });
    files.write("staged", new TextEncoder().encode("0123456789"));
    for (const range of [
      {},
      { offset: 3 },
      { limit: 2 },
      { offset: 8, limit: 9 },
      { offset: 10 },
      { offset: 99, limit: 1 },
    ]) {
      expect(files.read("staged", range)).toEqual(files.read("committed", range));
    }
  });

  it("[T7] refuses to write a path that leaves the workspace, and stages nothing", () => {
    const files = memoryFiles();
    expect(() => files.write("../a", bytes(1))).toThrow(code("file_path_invalid"));
    expect(files.read("../a")).toBeNull();
    expect(files.delete("../a")).toBe(false);
    expect(files.changes()).toEqual([]);
  });

  it("[T8] refuses file size, file count and total size with a reason and changes nothing", () => {
    const files = memoryFiles({ a: bytes(10), b: bytes(10) }, LIMITS);
    expect(() => files.write("c", bytes(11))).toThrow(code("file_too_large"));
    expect(() => files.write("c", bytes(6))).toThrow(code("workspace_full"));
    files.write("c", bytes(5));
    expect(() => files.write("d", bytes(0))).toThrow(code("workspace_full"));
    expect(files.changes()).toEqual([{ type: "write", path: "c", content: bytes(5) }]);
    files.delete("a");
    files.write("d", bytes(10));
    expect(files.list().reduce((sum, stat) => sum + stat.bytes, 0)).toBe(25);
  });

  it("[T8] lets a workspace above its limits shrink", () => {
    const files = memoryFiles({ a: bytes(10), b: bytes(10), c: bytes(10), d: bytes(10) }, LIMITS);
    files.write("a", bytes(9));
    expect(() => files.write("a", bytes(10))).toThrow(code("workspace_full"));
    expect(files.delete("b")).toBe(true);
  });

  it("[T8] no sequence of writes and deletes passes a limit, and a refused one changes nothing", () => {
    const operation = fc.record({
      path: fc.constantFrom("a", "b", "c", "d", "e"),
      size: fc.option(fc.nat(12)),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
        const files = memoryFiles({ a: bytes(4) }, LIMITS);
        const model = new Map([["a", 4]]);
        for (const { path, size } of operations) {
          try {
            if (size === null) files.delete(path);
            else files.write(path, bytes(size));
          } catch {
            expect(files.list().map((stat) => [stat.path, stat.bytes])).toEqual(
              [...model].toSorted(),
            );
            continue;
          }
          if (size === null) model.delete(path);
          else model.set(path, size);
          const total = [...model.values()].reduce((sum, length) => sum + length, 0);
          expect(total <= LIMITS.maxTotalBytes && model.size <= LIMITS.maxFiles).toBe(true);
        }
        expect(files.list().map((stat) => [stat.path, stat.bytes])).toEqual([...model].toSorted());
      }),
    );
  });
});
