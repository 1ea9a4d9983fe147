/**
 * Contract of the Sandbox port, rules S1 to S4. Run against every adapter that enforces its own limits here; an adapter
 * whose limits only production enforces runs the same suite with `enforcesLimits: false`.
 */
import { describe, expect, it } from "vitest";
import type { Sandbox, SandboxLimits, SandboxResult } from "#ports/sandbox.ts";
import type { WorkspaceSession } from "#ports/workspace.ts";
import { memoryFiles, textOf } from "#test/support/memory-files.ts";

const LIMITS: SandboxLimits = {
  timeoutMs: 2_000,
  memoryBytes: 32 * 1024 * 1024,
  maxOutputBytes: 4_096,
};

interface RunOptions {
  readonly files?: WorkspaceSession;
  readonly limits?: Partial<SandboxLimits>;
  readonly signal?: AbortSignal;
}

export function sandboxContract(
  name: string,
  make: () => Sandbox,
  options: { readonly enforcesLimits: boolean } = { enforcesLimits: true },
): void {
  const sandbox = make();
  const run = (
    code: string,
    { files = memoryFiles(), limits, signal = new AbortController().signal }: RunOptions = {},
  ): Promise<SandboxResult> =>
    sandbox.run({ language: "javascript", code, files, limits: { ...LIMITS, ...limits }, signal });
  const value = async (code: string, given?: RunOptions) => {
    const result = await run(code, given);
    return result.ok ? result.value : `${result.code}: ${result.message}`;
  };

  describe(`${name}: isolation`, () => {
    it("[S1] code sees no host global, binding or network", async () => {
      const names = [
        "process",
        "require",
        "Buffer",
        "module",
        "env",
        "WebAssembly",
        "caches",
        "WebSocket",
        "XMLHttpRequest",
        "fetch",
        "setTimeout",
        "navigator",
      ];
      await expect(
        value(
          `return ${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== "undefined")`,
        ),
      ).resolves.toEqual([]);
    });

    it("[S1] code reaches nothing through constructors, import or eval", async () => {
      const escape = `try { return typeof console.log.constructor("return process")(); } catch (error) { return error.name; }`;
      expect(["ReferenceError", "EvalError"]).toContain(await value(escape));
      await expect(
        value(`return import("node:fs").then(() => "loaded", () => "refused")`),
      ).resolves.toBe("refused");
      await expect(
        value(
          `return import("cloudflare:sockets").then((m) => typeof m.connect("1.1.1.1:80").opened, () => "refused")`,
        ),
      ).resolves.toBe("refused");
    });

    it("[S1] nothing that code changes is there for the next run", async () => {
      await value(
        `Array.prototype.map = () => "tampered"; JSON.stringify = () => "tampered"; Object.prototype.x = 1; globalThis.left = 1; parseCsv = null; return 1`,
      );
      await expect(
        value(
          `return [[1].map((n) => n + 1), JSON.stringify([1]), ({}).x ?? "none", typeof left, parseCsv("a\\n1")]`,
        ),
      ).resolves.toEqual([[2], "[1]", "none", "undefined", [{ a: "1" }]]);
    });

    it("[S1] files outside the session do not exist, whatever the spelling", async () => {
      for (const path of ["/etc/passwd", "../secret", "a/../../b", "file:///etc/passwd", "C:\\x"]) {
        expect(await value(`return readFile(${JSON.stringify(path)})`)).toMatch(/no file/);
        expect(await value(`writeFile(${JSON.stringify(path)}, "x"); return "written"`)).toMatch(
          /exec_error|file_path_invalid|written/,
        );
      }
      expect(await value(`writeFile("../x", "x")`)).toMatch(/exec_error/);
    });
  });

  describe(`${name}: code`, () => {
    it("[S1] returns the JSON value of a top-level return, and null without one", async () => {
      await expect(
        value(`return { a: [1, "ü🧪", null, true], when: new Date(0) }`),
      ).resolves.toEqual({ a: [1, "ü🧪", null, true], when: "1970-01-01T00:00:00.000Z" });
      await expect(value(`const x = 1; // ends in a comment`)).resolves.toBeNull();
    });

    it("[S1] awaits settled promises and reports one that never settles", async () => {
      await expect(
        value(
          `const parts = await Promise.all([1, Promise.resolve(2)]); await null; return parts.length + parts[1]`,
        ),
      ).resolves.toBe(4);
      await expect(run(`await new Promise(() => {})`)).resolves.toMatchObject({
        ok: false,
        code: "exec_error",
        message: expect.stringContaining("never settles"),
      });
    });

    it("[S1] reports a syntax error and a thrown error with the line of the code", async () => {
      await expect(run(`const a = 1;\nconst b = ;\n`)).resolves.toMatchObject({
        ok: false,
        code: "exec_error",
        message: expect.stringMatching(/SyntaxError.*line 2/),
      });
      await expect(
        run(`const a = 1;\n\nthrow new TypeError("broken " + a)`),
      ).resolves.toMatchObject({
        ok: false,
        code: "exec_error",
        message: "TypeError: broken 1 (line 3)",
      });
      await expect(run(`throw "text"`)).resolves.toMatchObject({
        ok: false,
        code: "exec_error",
        message: "thrown: text",
      });
      await expect(run(`null.x`)).resolves.toMatchObject({
        ok: false,
        code: "exec_error",
        message: expect.stringMatching(/TypeError.*line 1/),
      });
    });

    it.each([
      "return () => 1",
      "return 10n",
      "return { a: Symbol() }",
      "return new Map([[1, 2]])",
      "return { mean: 0 / 0 }",
      "let a = []; for (let i = 0; i < 1000; i++) a = [a]; return a",
      "const a = {}; a.a = a; return a",
      `return "x".repeat(2 ** 21)`,
    ])("[S1] refuses what JSON cannot hold instead of dropping it: %s", async (code) => {
      await expect(run(code)).resolves.toMatchObject({ ok: false, code: "exec_output_invalid" });
    });
  });

  describe(`${name}: limits`, () => {
    it
      .runIf(options.enforcesLimits)
      .each([
        ["while (true) {}"],
        ["try { for (;;); } catch { for (;;); } finally { for (;;); }"],
        ["for (;;) await null"],
        [`/^(a+)+$/.test("a".repeat(50) + "b")`],
        [`const o = { toJSON() { for (;;); } }; return o`],
        [`throw { get name() { for (;;); } }`],
      ])(
      "[S2] an endless loop ends as exec_timeout within 1.5 s of its limit, and the next run works: %s",
      async (code) => {
        const startedAt = Date.now();
        const result = await run(code, { limits: { timeoutMs: 300 } });
        expect(Date.now() - startedAt).toBeLessThan(1_800);
        expect(result).toMatchObject({ ok: false, code: "exec_timeout" });
        await expect(value("return 1")).resolves.toBe(1);
      },
    );

    it.runIf(options.enforcesLimits)(
      "[S2] an endless chain of promises ends at whichever limit comes first, and the next run works",
      async () => {
        // Each link keeps the one before alive, so a fast machine fills the memory before the time is up.
        const code = "const again = () => Promise.resolve().then(again); await again()";
        const result = await run(code, { limits: { timeoutMs: 300 } });
        expect(result).toMatchObject({
          ok: false,
          code: expect.stringMatching(/^exec_(timeout|memory)$/),
        });
        await expect(value("return 1")).resolves.toBe(1);
      },
    );

    it.runIf(options.enforcesLimits)("[S2] a plain endless loop is exec_timeout", async () => {
      await expect(run("while (true) {}", { limits: { timeoutMs: 200 } })).resolves.toMatchObject({
        ok: false,
        code: "exec_timeout",
        message: expect.stringContaining("200 ms"),
      });
    });

    it
      .runIf(options.enforcesLimits)
      .each([
        ["const a = []; for (;;) a.push(a.length)"],
        [`let text = "x"; for (;;) text += text`],
        [`const rows = []; for (;;) rows.push({ n: rows.length, text: "row " + rows.length })`],
        ["const all = []; for (;;) all.push(new ArrayBuffer(1e6))"],
        [`return "x".repeat(1e9).length`],
      ])(
      "[S2] a memory bomb ends as exec_memory, and the next run works: %s",
      async (code) => {
        await expect(
          run(code, { limits: { timeoutMs: 20_000, memoryBytes: 16 * 1024 * 1024 } }),
        ).resolves.toMatchObject({ ok: false, code: "exec_memory" });
        await expect(value("return 1")).resolves.toBe(1);
      },
      30_000,
    );

    it
      .runIf(options.enforcesLimits)
      .each([
        ["const f = () => 1 + f(); return f()"],
        ["const o = { toString() { return String(o) } }; return String(o)"],
        [`return JSON.parse("[".repeat(1e5) + "]".repeat(1e5))`],
        [`return eval("[".repeat(1e5) + "]".repeat(1e5))`],
      ])("[S2] runaway recursion ends as exec_stack, and the next run works: %s", async (code) => {
      await expect(run(code)).resolves.toMatchObject({ ok: false, code: "exec_stack" });
      await expect(value("return 1")).resolves.toBe(1);
    });

    it("[S2] a run that was cancelled before it began does not begin", async () => {
      const files = memoryFiles();
      await expect(
        run(`writeFile("a", "x")`, { files, signal: AbortSignal.abort() }),
      ).resolves.toMatchObject({ ok: false, code: "exec_cancelled" });
      expect(files.changes()).toEqual([]);
    });
  });

  describe(`${name}: output`, () => {
    it("[S3] keeps what was printed, in order, with values readable", async () => {
      const { output } = await run(
        `console.log("a", 1, { b: [2] }, [null]); console.error(new Error("bad")); console.log(undefined, 3n)`,
      );
      expect(output).toEqual({
        stdout: `a 1 {"b":[2]} [null]\nError: bad\nundefined 3\n`,
        stdoutBytes: 44,
        truncated: false,
      });
    });

    it("[S3] cuts a flood while it is produced: head, tail and the true byte count", async () => {
      const { output } = await run(
        `for (let i = 0; i < 20000; i++) console.log("line " + i + " ü🧪"); return 1`,
        { limits: { timeoutMs: 30_000 } },
      );
      const total = Array.from({ length: 20_000 }, (_, i) =>
        Buffer.byteLength(`line ${i} ü🧪\n`),
      ).reduce((sum, bytes) => sum + bytes, 0);
      expect(output).toMatchObject({ truncated: true, stdoutBytes: total });
      expect(Buffer.byteLength(output.stdout)).toBeLessThanOrEqual(LIMITS.maxOutputBytes);
      expect(output.stdout.startsWith("line 0 ü🧪\nline 1 ü🧪\n")).toBe(true);
      expect(output.stdout.endsWith("line 19999 ü🧪\n")).toBe(true);
      expect(output.stdout).not.toContain("\ufffd");
    });

    it("[S3] keeps the output of code that fails", async () => {
      await expect(run(`console.log("before"); throw new Error("x")`)).resolves.toMatchObject({
        ok: false,
        output: { stdout: "before\n", truncated: false },
      });
    });
  });

  describe(`${name}: files`, () => {
    it("[S4] code reads the committed files and its own changes, and leaves them staged in the session", async () => {
      const files = memoryFiles({ "in/a.txt": "alpha", "in/b.txt": "beta", "c.txt": "gamma" });
      const code = `
        const before = listFiles("in/");
        writeFile("out.txt", readFile("in/a.txt").toUpperCase());
        writeFile("bytes.bin", new Uint8Array([9, 1, 2, 255]).subarray(1));
        const gone = [deleteFile("in/b.txt"), deleteFile("in/b.txt")];
        return { before, gone, after: listFiles(), own: readFile("out.txt"), bytes: [...readBytes("bytes.bin")] };`;
      await expect(value(code, { files })).resolves.toEqual({
        before: ["in/a.txt", "in/b.txt"],
        gone: [true, false],
        after: ["bytes.bin", "c.txt", "in/a.txt", "out.txt"],
        own: "ALPHA",
        bytes: [1, 2, 255],
      });
      expect(
        files
          .changes()
          .map((change) => [change.type, change.path])
          .toSorted(),
      ).toEqual([
        ["delete", "in/b.txt"],
        ["write", "bytes.bin"],
        ["write", "out.txt"],
      ]);
      expect(textOf(files, "out.txt")).toBe("ALPHA");
      expect(files.read("bytes.bin")).toEqual(new Uint8Array([1, 2, 255]));
    });

    it("[S4] a refused write is an error that the code can catch, and stages nothing", async () => {
      const files = memoryFiles({}, { maxFileBytes: 10, maxTotalBytes: 100, maxFiles: 2 });
      await expect(
        value(
          `try { writeFile("a.txt", "x".repeat(11)); return "written"; } catch (error) { return error.message; }`,
          { files },
        ),
      ).resolves.toMatch(/at most 10/);
      expect(files.changes()).toEqual([]);
      expect(await value(`writeFile("a.txt", { a: 1 })`, { files })).toMatch(
        /TypeError.*JSON.stringify/,
      );
    });

    it("[S4] a missing file is an error that names files which exist; text of another encoding says so", async () => {
      const files = memoryFiles({ "sales.csv": "a", "latin.txt": new Uint8Array([0x63, 0xe9]) });
      expect(await value(`return readFile("sale.csv")`, { files })).toMatch(
        /no file sale\.csv.*sales\.csv/,
      );
      expect(await value(`return readFile("latin.txt")`, { files })).toMatch(
        /not utf-8 text.*latin1/,
      );
      await expect(value(`return readFile("latin.txt", "latin1")`, { files })).resolves.toBe("cé");
    });
  });

  describe(`${name}: parseCsv`, () => {
    const csv = (text: string, given = "{}") =>
      value(`return parseCsv(readFile("x.csv"), ${given})`, {
        files: memoryFiles({ "x.csv": text }),
      });

    it("[S1] reads RFC 4180: quotes, doubled quotes, delimiters and line breaks in fields, CRLF, no last line break", async () => {
      await expect(
        csv('name,note\r\n"Smith, J","said ""hi""\r\nand left"\r\nLee,'),
      ).resolves.toEqual([
        { name: "Smith, J", note: 'said "hi"\r\nand left' },
        { name: "Lee", note: "" },
      ]);
    });

    it("[S1] keeps cells as text unless numbers are asked for, and codes with leading zeros even then", async () => {
      const text = "\ufeffid,amount\n007,12.50\n8,-1e3\n,n/a\n";
      await expect(csv(text)).resolves.toEqual([
        { id: "007", amount: "12.50" },
        { id: "8", amount: "-1e3" },
        { id: "", amount: "n/a" },
      ]);
      await expect(csv(text, "{ numbers: true }")).resolves.toEqual([
        { id: "007", amount: 12.5 },
        { id: 8, amount: -1000 },
        { id: "", amount: "n/a" },
      ]);
    });

    it("[S1] handles ragged rows, blank lines, doubled and missing names, other delimiters, no header", async () => {
      await expect(csv("a,a,\n1\n\n1,2,3,4\n")).resolves.toEqual([
        { a: "1", a_2: "", column_3: "" },
        { a: "1", a_2: "2", column_3: "3", column_4: "4" },
      ]);
      await expect(csv("a;b\n1,5;2", `{ delimiter: ";" }`)).resolves.toEqual([
        { a: "1,5", b: "2" },
      ]);
      await expect(csv("a,b\n1,2", "{ header: false, numbers: true }")).resolves.toEqual([
        ["a", "b"],
        [1, 2],
      ]);
      await expect(csv("")).resolves.toEqual([]);
      await expect(csv("a,b\n")).resolves.toEqual([]);
      await expect(
        value(
          `const [row] = parseCsv("__proto__,a\\n1,2"); return [Object.keys(row), ({}).a ?? "clean"]`,
        ),
      ).resolves.toEqual([["__proto__", "a"], "clean"]);
    });

    it("[S1] says where a quote is never closed", async () => {
      expect(await csv('a,b\n1,"open\n')).toMatch(/row 2.*never closed/);
    });

    it("[S1] reads 5 MB of CSV within five seconds of CPU", async () => {
      const plain = `id,city,amount\n${Array.from({ length: 200_000 }, (_, i) => `${i},City ${i % 100},${(i % 1_000) + 0.5}`).join("\n")}`;
      const quoted = plain.replaceAll(/City \d+/g, '"$&"');
      const code = `const rows = parseCsv(readFile("x.csv"), { numbers: true }); return [rows.length, rows.reduce((sum, row) => sum + row.amount, 0)]`;
      for (const text of [plain, quoted]) {
        const before = process.cpuUsage();
        const limits = { timeoutMs: 60_000, memoryBytes: 128 * 1024 * 1024 };
        await expect(
          value(code, { files: memoryFiles({ "x.csv": text }), limits }),
        ).resolves.toEqual([200_000, 100_000_000]);
        expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
      }
    }, 120_000);
  });
}
