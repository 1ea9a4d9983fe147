import { describe, expect, it } from "vitest";
import { isAppError } from "#shared/errors.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { ToolContent } from "#ports/content.ts";
import type { PlanItem, Tool, ToolContext } from "#ports/tool.ts";
import type { WorkspaceSession } from "#ports/workspace.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import { createQuickJsSandbox } from "#adapters/sandbox/quickjs-sandbox.ts";
import { deleteFile } from "#tools/delete.ts";
import { edit } from "#tools/edit.ts";
import { find } from "#tools/find.ts";
import { grep } from "#tools/grep.ts";
import { ls } from "#tools/ls.ts";
import { read } from "#tools/read.ts";
import { runCode } from "#tools/run-code.ts";
import { updatePlan } from "#tools/update-plan.ts";
import { write } from "#tools/write.ts";
import { nodeQuickJsBinary } from "#test/support/quickjs-binary.ts";
import { memoryFiles, textOf } from "#test/support/memory-files.ts";

const sandbox = createQuickJsSandbox(nodeQuickJsBinary);
const ALL = [read, ls, find, grep, write, edit, deleteFile, updatePlan, runCode];

async function call(
  tool: Tool,
  args: JsonObject,
  files: WorkspaceSession = memoryFiles(),
  plan: PlanItem[][] = [],
): Promise<Json> {
  const parsed = tool.parse(args);
  if (!parsed.ok) throw new TypeError(JSON.stringify(parsed.error));
  const context: ToolContext = {
    idempotencyKey: "key",
    attempt: 1,
    signal: new AbortController().signal,
    now: 0,
    files,
    sandbox: sandbox satisfies Sandbox,
    plan: [],
    approval: null,
    setPlan: (items) => void plan.push([...items]),
    report: () => undefined,
  };
  const value = await tool.execute(parsed.value, context);
  return value instanceof ToolContent ? value.toText() : value;
}
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "ok",
    (error: unknown) => (isAppError(error) ? error.code : error),
  );

describe("built-in tools", () => {
  it("[T1] declare an effect, and none writes under effect read", () => {
    const effects = Object.fromEntries(ALL.map((tool) => [tool.name, tool.effect]));
    expect(effects).toEqual({
      read: "read",
      ls: "read",
      find: "read",
      grep: "read",
      write: "idempotent",
      edit: "idempotent",
      delete: "idempotent",
      update_plan: "idempotent",
      run_code: "idempotent",
    });
  });

  it("[T7] refuse a path that leaves the workspace, whatever the tool", async () => {
    for (const path of ["../x", "/etc/passwd", "a\\b", "a/./b", "a\u0000"]) {
      expect(await codeOf(call(read, { path }))).toBe("file_path_invalid");
      expect(await codeOf(call(write, { path, content: "" }))).toBe("file_path_invalid");
      expect(await codeOf(call(edit, { path, old: "a", new: "b" }))).toBe("file_path_invalid");
      expect(await codeOf(call(deleteFile, { path }))).toBe("file_path_invalid");
      expect(await codeOf(call(ls, { path }))).toBe("file_path_invalid");
    }
  });
});

describe("read", () => {
  it("[T4] reads in pieces that say where to go on and join to the whole", async () => {
    const text = "aé🧪z".repeat(50);
    const files = memoryFiles({ "a.txt": text });
    for (const limit of [1, 2, 3, 4, 5, 7, 64, 1_000]) {
      let offset: number | null = 0;
      let joined = "";
      while (offset !== null) {
        const piece = (await call(read, { path: "a.txt", offset, limit }, files)) as {
          text: string;
          nextOffset: number | null;
          truncated: boolean;
          bytes: number;
        };
        expect(piece.text).not.toContain("\ufffd");
        expect(piece.bytes).toBe(Buffer.byteLength(text));
        expect(piece.truncated).toBe(piece.nextOffset !== null);
        joined += piece.text;
        offset = piece.nextOffset;
      }
      expect(joined).toBe(text);
    }
  });

  it("E10 [T4] gives exactly the bytes of a range as base64, also of what is no text", async () => {
    const content = new Uint8Array(10_000).map((_, index) => index % 256);
    const files = memoryFiles({ "b.bin": content });
    const piece = await call(
      read,
      { path: "b.bin", offset: 9_000, limit: 1_000, encoding: "base64" },
      files,
    );
    expect(piece).toEqual({
      path: "b.bin",
      bytes: 10_000,
      offset: 9_000,
      truncated: false,
      nextOffset: null,
      base64: Buffer.from(content.slice(9_000)).toString("base64"),
    });
  });

  it("[T5] says that a file is binary or missing, and that an offset is past the end", async () => {
    const files = memoryFiles({ "b.bin": new Uint8Array([0xff, 0xfe, 0, 1]), "a.txt": "abc" });
    await expect(call(read, { path: "b.bin" }, files)).resolves.toMatchObject({
      binary: true,
      bytes: 4,
    });
    expect(await codeOf(call(read, { path: "c.txt" }, files))).toBe("not_found");
    expect(await codeOf(call(read, { path: "a.txt", offset: 4 }, files))).toBe("invalid_request");
  });
});

describe("ls, find, grep", () => {
  const files = memoryFiles({
    "a.csv": "x\ny",
    "data/b.csv": "Needle\r\nhay\r\nneedle two",
    "data/deep/c.txt": "needle",
    bin: new Uint8Array([0, 1]),
  });

  it("[T4] ls groups folders with their sizes", async () => {
    await expect(call(ls, {}, files)).resolves.toMatchObject({
      entries: [
        { name: "a.csv", bytes: 3 },
        { name: "bin", bytes: 2 },
        { name: "data/", bytes: 29, files: 2 },
      ],
      truncated: false,
    });
    await expect(call(ls, { path: "data/" }, files)).resolves.toMatchObject({
      entries: [{ name: "b.csv" }, { name: "deep/" }],
    });
  });

  it("[T4] find matches globs within and across folders", async () => {
    const paths = async (glob: string) =>
      ((await call(find, { glob }, files)) as { files: { path: string }[] }).files.map(
        (file) => file.path,
      );
    expect(await paths("*.csv")).toEqual(["a.csv"]);
    expect(await paths("**/*.csv")).toEqual(["a.csv", "data/b.csv"]);
    expect(await paths("data/**")).toEqual(["data/b.csv", "data/deep/c.txt"]);
    expect(await paths("data/?.csv")).toEqual(["data/b.csv"]);
    expect(await paths("**")).toHaveLength(4);
    expect(await paths("d*a/*/c.txt")).toEqual(["data/deep/c.txt"]);
  });

  it("[T5] find answers a hostile glob at once", async () => {
    const long = memoryFiles({ ["a".repeat(500)]: "" });
    const startedAt = process.cpuUsage();
    await expect(call(find, { glob: `${"*a".repeat(100)}b` }, long)).resolves.toMatchObject({
      total: 0,
    });
    expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(500);
  });

  it("[T4] grep answers lines with their numbers, bounded, and says which files are no text", async () => {
    await expect(call(grep, { text: "needle", ignoreCase: true }, files)).resolves.toEqual({
      matches: [
        { path: "data/b.csv", line: 1, text: "Needle" },
        { path: "data/b.csv", line: 3, text: "needle two" },
        { path: "data/deep/c.txt", line: 1, text: "needle" },
      ],
      total: 3,
      truncated: false,
      notText: ["bin"],
    });
    await expect(call(grep, { text: "(a+)+$", glob: "*.csv" }, files)).resolves.toMatchObject({
      total: 0,
    });
    const many = memoryFiles({ a: "x\n".repeat(500) });
    await expect(call(grep, { text: "x" }, many)).resolves.toMatchObject({
      total: 500,
      truncated: true,
    });
  });
});

describe("write, edit, delete", () => {
  it("[T6] stage their changes in the session and nowhere else", async () => {
    const files = memoryFiles({ "a.txt": "one two", "b.txt": "b" });
    await expect(call(write, { path: "new/c.txt", content: "ü" }, files)).resolves.toEqual({
      path: "new/c.txt",
      bytes: 2,
      replaced: false,
    });
    await expect(call(edit, { path: "a.txt", old: "two", new: "2" }, files)).resolves.toEqual({
      path: "a.txt",
      bytes: 5,
      line: 1,
    });
    await call(deleteFile, { path: "b.txt" }, files);
    expect(files.changes().map(({ type, path }) => `${type} ${path}`)).toEqual([
      "write new/c.txt",
      "write a.txt",
      "delete b.txt",
    ]);
    expect(textOf(files, "a.txt")).toBe("one 2");
  });

  it("[T5] edit refuses text that is absent or occurs twice, overlapping included, and leaves the rest byte for byte", async () => {
    const files = memoryFiles({ "a.txt": "\ufeffaaa b\r\n$& end" });
    expect(await codeOf(call(edit, { path: "a.txt", old: "zz", new: "" }, files))).toBe(
      "invalid_request",
    );
    expect(await codeOf(call(edit, { path: "a.txt", old: "aa", new: "" }, files))).toBe(
      "invalid_request",
    );
    expect(files.changes()).toEqual([]);
    await call(edit, { path: "a.txt", old: "b", new: "$&$1" }, files);
    expect(Buffer.from(files.read("a.txt") ?? [])).toEqual(Buffer.from("\ufeffaaa $&$1\r\n$& end"));
    expect(await codeOf(call(deleteFile, { path: "nothing" }, files))).toBe("not_found");
  });
});

describe("update_plan and run_code", () => {
  it("[T2] update_plan hands the parsed items on, defaults filled in", async () => {
    const plans: PlanItem[][] = [];
    await expect(
      call(
        updatePlan,
        { items: [{ text: "a", status: "done" }, { text: "b" }] },
        memoryFiles(),
        plans,
      ),
    ).resolves.toEqual({ items: 2, open: 1 });
    expect(plans).toEqual([
      [
        { text: "a", status: "done" },
        { text: "b", status: "pending" },
      ],
    ]);
  });

  it("[S4] run_code answers value, output and what it wrote", async () => {
    const files = memoryFiles({ "s.csv": "city,n\nOslo,2\nRome,3\n" });
    const code = `const rows = parseCsv(readFile("s.csv"), { numbers: true }); console.log(rows.length); writeFile("out.txt", "x"); return { sum: rows.reduce((t, r) => t + r.n, 0) }`;
    await expect(call(runCode, { code }, files)).resolves.toEqual({
      value: { sum: 5 },
      stdout: "2\n",
      written: ["out.txt"],
    });
  });

  it("[T5] run_code fails with the sandbox's own code and what was printed before", async () => {
    const failed = call(runCode, { code: `console.log("half"); throw new Error("no")` });
    await expect(failed).rejects.toMatchObject({
      code: "exec_error",
      message: "Error: no (line 1)\nPrinted before:\nhalf\n",
    });
    expect(await codeOf(call(runCode, { code: "return () => 1" }))).toBe("exec_output_invalid");
  });
});
