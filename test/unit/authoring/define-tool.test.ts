import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Json } from "#shared/json.ts";
import type { ToolContext } from "#ports/tool.ts";
import { defineTool, defineToolFromJsonSchema } from "#authoring/define-tool.ts";

const CONTEXT = {} as ToolContext;
const base = { name: "pay", description: "Pays.", version: "1" };
const input = z.object({ amount: z.int().min(1), note: z.string().default("-") });

describe("defineTool", () => {
  it("[T1] refuses a definition without a declared effect", () => {
    // @ts-expect-error effect is required
    expect(() => defineTool({ ...base, input, execute: () => null })).toThrow(/effect must be/);
    // @ts-expect-error a made-up effect is not an effect
    expect(() => defineTool({ ...base, input, effect: "write", execute: () => null })).toThrow(
      /effect must be/,
    );
  });

  it("[T1] requires check for reconcile and refuses it for every other effect", () => {
    const check = async () => ({ happened: false }) as const;
    const execute = () => null;
    const reconcile = { ...base, input, execute, effect: "reconcile" } as const;
    const once = { ...base, input, execute, effect: "once" } as const;
    const checkedOnce = { ...once, check };
    // @ts-expect-error reconcile needs check
    expect(() => defineTool(reconcile)).toThrow(/check is required/);
    // @ts-expect-error check belongs to reconcile only
    expect(() => defineTool(checkedOnce)).toThrow(/check is required/);
    expect(defineTool({ ...reconcile, check }).check).toBeTypeOf("function");
    expect(defineTool(once).check).toBeUndefined();
  });

  it("[T1] refuses names that a provider would reject, empty versions and limits that are no counts", () => {
    const define = (change: object) => () =>
      defineTool({ ...base, input, effect: "read", execute: () => null, ...change });
    for (const name of ["", "a b", "a.b", "ä", "x".repeat(65)])
      expect(define({ name })).toThrow(/must match/);
    expect(define({ version: " " })).toThrow(/version is required/);
    expect(define({ limits: { timeoutMs: 0 } })).toThrow(/positive integer/);
    expect(define({ limits: { maxCallsPerRun: 1.5 } })).toThrow(/positive integer/);
    expect(define({ name: "x".repeat(64) })).not.toThrow();
  });

  it("[T2] gives execute the parsed arguments, typed, with defaults filled in", async () => {
    const tool = defineTool({
      ...base,
      input,
      effect: "read",
      execute: ({ amount, note }) => {
        const typed: [number, string] = [amount, note];
        return typed;
      },
    });
    const parsed = tool.parse({ amount: 3 });
    expect(parsed).toEqual({ ok: true, value: { amount: 3, note: "-" } });
    if (parsed.ok) await expect(tool.execute(parsed.value, CONTEXT)).resolves.toEqual([3, "-"]);
  });

  it("[T2] gives the model the input side of the schema: what has a default is not required", () => {
    const { inputSchema } = defineTool({ ...base, input, effect: "read", execute: () => null });
    expect(inputSchema).toMatchObject({
      type: "object",
      required: ["amount"],
      additionalProperties: false,
    });
    expect(inputSchema).not.toHaveProperty("$schema");
  });

  it("[T2] refuses schemas whose parse would not give JSON", () => {
    const define = (schema: z.ZodObject) => () =>
      defineTool({ ...base, input: schema, effect: "read", execute: () => null });
    expect(define(z.object({ at: z.string().transform((text) => new Date(text)) }))).toThrow(
      /plain JSON/,
    );
    expect(define(z.object({ at: z.date() }))).toThrow(/plain JSON/);
    expect(define(z.object({ id: z.bigint() }))).toThrow(/plain JSON/);
    expect(define(z.object({ tags: z.map(z.string(), z.string()) }))).toThrow(/plain JSON/);
    expect(define(z.object({ name: z.string().trim() }))).not.toThrow();
  });

  it("[T2] replaces lone surrogates before anybody sees the arguments", () => {
    const tool = defineTool({
      ...base,
      input: z.object({ text: z.string() }),
      effect: "read",
      execute: () => null,
    });
    expect(tool.parse({ text: "a\ud83d" })).toEqual({ ok: true, value: { text: "a\ufffd" } });
  });

  it("[T3] names each misfit by JSON Pointer and what was expected", () => {
    const tool = defineTool({
      ...base,
      input: z.object({
        rows: z.array(z.object({ "a/b": z.string(), "c~d": z.int() })),
        mode: z.enum(["x", "y"]),
      }),
      effect: "read",
      execute: () => null,
    });
    const issues = issuesOf(tool.parse({ rows: [{ "a/b": 1, "c~d": "2" }], mode: "z" }));
    expect(issues.map((issue) => issue.path)).toEqual(["/rows/0/a~1b", "/rows/0/c~0d", "/mode"]);
    expect(issues.map((issue) => issue.message)).toEqual([
      expect.stringContaining("expected string"),
      expect.stringContaining("expected number"),
      expect.stringContaining('"x"|"y"'),
    ]);
  });

  it("[T3] refuses unknown arguments instead of dropping them", () => {
    const tool = defineTool({ ...base, input, effect: "read", execute: () => null });
    expect(issuesOf(tool.parse({ amount: 1, amuont: 2 }))).toEqual([
      { path: "/amuont", message: expect.any(String) },
    ]);
    const loose = defineTool({
      ...base,
      input: z.looseObject({}),
      effect: "read",
      execute: () => null,
    });
    expect(loose.parse({ anything: [1] })).toEqual({ ok: true, value: { anything: [1] } });
  });

  it("[T3] says for a union why no alternative fits", () => {
    const tool = defineTool({
      ...base,
      input: z.object({ id: z.union([z.string(), z.int()]) }),
      effect: "read",
      execute: () => null,
    });
    const [issue] = issuesOf(tool.parse({ id: null }));
    expect(issue).toMatchObject({
      path: "/id",
      message: expect.stringMatching(/expected string.*; or .*expected number/),
    });
  });

  it("[T3] refuses arguments that are no object, and bounds the number of issues", () => {
    const tool = defineTool({
      ...base,
      input: z.object({ list: z.array(z.string()) }),
      effect: "read",
      execute: () => null,
    });
    for (const args of [null, [], "x", 3] satisfies Json[])
      expect(issuesOf(tool.parse(args))[0]?.path).toBe("");
    expect(issuesOf(tool.parse({ list: Array.from({ length: 1_000 }, () => 1) }))).toHaveLength(8);
  });

  it("[T5] turns a synchronous throw of execute into a rejection", async () => {
    const tool = defineTool({
      ...base,
      input,
      effect: "read",
      execute: () => {
        throw new TypeError("broken");
      },
    });
    await expect(tool.execute({ amount: 1, note: "" }, CONTEXT)).rejects.toThrow("broken");
  });
});

describe("defineToolFromJsonSchema", () => {
  const inputSchema = {
    type: "object",
    properties: { city: { type: "string", minLength: 1 }, days: { type: "integer", default: 3 } },
    required: ["city"],
    additionalProperties: false,
  };
  const tool = defineToolFromJsonSchema({
    ...base,
    inputSchema,
    effect: "read",
    execute: (args) => args,
  });

  it("[T2] keeps the given schema byte for byte and parses by it", () => {
    expect(tool.inputSchema).toBe(inputSchema);
    expect(tool.parse({ city: "Oslo" })).toEqual({ ok: true, value: { city: "Oslo", days: 3 } });
  });

  it("[T3] refuses what the schema refuses", () => {
    expect(issuesOf(tool.parse({ city: "", days: 1.5 })).map((issue) => issue.path)).toEqual([
      "/city",
      "/days",
    ]);
    expect(issuesOf(tool.parse({ city: "Oslo", extra: 1 }))[0]?.path).toBe("/extra");
  });

  it("[T1] refuses a schema that is not of type object", () => {
    expect(() =>
      defineToolFromJsonSchema({
        ...base,
        inputSchema: { type: "string" },
        effect: "read",
        execute: () => null,
      }),
    ).toThrow(/type object/);
  });
});

function issuesOf(parsed: ReturnType<ReturnType<typeof defineTool>["parse"]>) {
  return parsed.ok ? [] : parsed.error;
}
