/** Documents drift where nothing checks them: links and paths of the tree that they name must exist. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesUnder } from "../support/source-tree.ts";

const DOCUMENTS = [
  ...readdirSync(".").filter((name) => name.endsWith(".md")),
  ...filesUnder("docs", /\.md$/),
];
const MAP_CEILING = 120;

describe.each(DOCUMENTS)("%s", (document) => {
  const text = readFileSync(document, "utf8");

  it("links to files that exist", () => {
    const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, to]) => to!);
    const dead = links.filter((to) => !existsSync(join(dirname(document), to)));
    expect(dead).toEqual([]);
  });

  it("names files that exist", () => {
    const named = [
      ...text.matchAll(/`((?:src|test|durable-objects|docs|scripts)\/[\w./-]+\.\w+)`/g),
    ];
    const dead = named.map(([, path]) => path!).filter((path) => !existsSync(path));
    expect(dead).toEqual([]);
  });
});

describe("AGENTS.md", () => {
  it(`has at most ${MAP_CEILING} lines`, () => {
    expect(readFileSync("AGENTS.md", "utf8").split("\n").length).toBeLessThanOrEqual(MAP_CEILING);
  });

  it("names only commands that package.json has", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const texts = DOCUMENTS.map((document) => readFileSync(document, "utf8")).join("\n");
    const named = [...texts.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
