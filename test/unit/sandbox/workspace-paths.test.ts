import { posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseWorkspacePath, requireWorkspacePath } from "#sandbox/workspace-paths.ts";

const refused = (path: string): boolean => !parseWorkspacePath(path).ok;

describe("workspace paths", () => {
  it("[T7] takes ordinary names as they are", () => {
    for (const path of [
      "a",
      "a.csv",
      "data/2026/sales figures.csv",
      ".env",
      "..a/b..",
      "Übersicht/🧪.txt",
      "12:30.txt",
      "%2e%2e/x",
      "~/x",
    ]) {
      expect(parseWorkspacePath(path)).toEqual({ ok: true, value: path });
    }
  });

  it.each([
    ["empty", ""],
    ["absolute", "/a"],
    ["parent", "../a"],
    ["parent inside", "a/../b"],
    ["parent at the end", "a/.."],
    ["here", "./a"],
    ["here inside", "a/./b"],
    ["double slash", "a//b"],
    ["slash at the end", "a/"],
    ["backslash", "a\\b"],
    ["parent by backslash", "..\\a"],
    ["NUL", "a\u0000.txt"],
    ["line break", "a\nb"],
    ["delete", "a\u007fb"],
    ["next line", "a\u0085b"],
    ["drive", "C:/a"],
    ["drive, relative", "c:a"],
    ["one letter and a colon", "a:b"],
    ["dots and spaces", "a/.. /b"],
    ["three dots", ".../a"],
    ["a space", " "],
    ["lone surrogate", "a\ud83d"],
    ["not NFC", "u\u0308.txt"],
    ["513 bytes", "a".repeat(513)],
    ["257 umlauts", "ü".repeat(257)],
  ])("[T7] refuses %s", (_, path) => {
    expect(refused(path)).toBe(true);
    expect(() => requireWorkspacePath(path)).toThrow(
      expect.objectContaining({ code: "file_path_invalid" }),
    );
  });

  it("[T7] no accepted spelling leaves a folder, on POSIX or on Windows, and none has a second spelling", () => {
    const piece = fc.constantFrom(
      ".",
      "..",
      "/",
      "\\",
      "a",
      "b",
      " ",
      ":",
      "C",
      "\u0000",
      "%2e",
      "\u2024",
      "ü",
      "u\u0308",
      "~",
      "?",
      "*",
    );
    const spelling = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
      fc.string({ unit: "binary", maxLength: 40 }),
    );
    let accepted = 0;
    fc.assert(
      fc.property(spelling, (path) => {
        if (refused(path)) return;
        accepted += 1;
        expect(posix.normalize(path)).toBe(path);
        expect(posix.resolve("/ws", path)).toBe(`/ws/${path}`);
        expect(win32.resolve("D:\\ws", path).startsWith("D:\\ws\\")).toBe(true);
        // What Windows makes of names: trailing dots and spaces go away.
        const trimmed = path
          .split("/")
          .map((segment) => segment.replace(/[. ]+$/, ""))
          .join("/");
        expect(posix.resolve("/ws", trimmed).startsWith("/ws/")).toBe(true);
        expect(path.normalize("NFC")).toBe(path);
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
