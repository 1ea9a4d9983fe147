/** Sizes and habits of the tree that no lint rule of ours can hold. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder, sourceFiles } from "../support/source-tree.ts";

const PRODUCT = ["src", "durable-objects", "workflows"];
const CEILING = 400;
const AGENT_OBJECT_CEILING = 300;

const lines = (file: string): number => readFileSync(file, "utf8").trimEnd().split("\n").length;
const matching = (files: readonly string[], pattern: RegExp): string[] =>
  files.filter((file) => pattern.test(codeOf(readFileSync(file, "utf8"))));

/** Without comments and template texts, which may hold source code for a sandbox. */
function codeOf(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/(^|\s)\/\/.*$/gm, "$1")
    .replaceAll(/`[^`]*`/g, "``");
}

describe("sizes", () => {
  it("finds the tree it measures", () => {
    expect(sourceFiles("src").length).toBeGreaterThan(10);
  });

  it(`no source file has over ${CEILING} lines`, () => {
    const folders = [...PRODUCT, "scripts", "web", "bench", "client", "test"];
    const over = folders
      .flatMap((folder) => filesUnder(folder, /\.(ts|tsx|mjs|css|py)$/))
      .filter((file) => !file.endsWith(".generated.ts"))
      .map((file) => ({ file, lines: lines(file) }))
      .filter((measured) => measured.lines > CEILING);
    expect(over).toEqual([]);
  });

  it(`durable-objects/agent-object.ts has under ${AGENT_OBJECT_CEILING} lines`, () => {
    expect(lines("durable-objects/agent-object.ts")).toBeLessThan(AGENT_OBJECT_CEILING);
  });
});

describe("habits", () => {
  const product = PRODUCT.flatMap(sourceFiles);

  it("no dynamic import outside the composition root", () => {
    const elsewhere = product.filter((file) => file !== "src/worker.ts");
    expect(matching(elsewhere, /\bimport\s*\(/)).toEqual([]);
  });

  it("no TypeScript `private`: it can be called over RPC, `#private` cannot", () => {
    expect(matching(product, /^\s*(private|protected)\s+\w/m)).toEqual([]);
  });

  it("no barrel", () => {
    expect(product.filter((file) => file.endsWith("/index.ts"))).toEqual([]);
  });
});
