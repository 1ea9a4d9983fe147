/** Each rule of docs/SPEC.md that is not struck has a test whose title starts with its number, and no title invents one. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "../support/source-tree.ts";

/** Areas whose rules must be covered. */
const AREAS = ["K", "L", "G", "T", "S", "A", "B", "P", "W", "Z", "H"];
/** `- **K1** text` is a rule; `- ~~**K1** text~~ reason` is struck. */
const RULE = /^- (~~)?\*\*([A-Z]\d+)\*\*/gm;
/** The opening of a title, after any quote: `it("[K1][K2] ..."`. Suites of contracts are tests too. */
const TITLE = /["'`]((?:\[[A-Z]\d+\]\s*)+)/g;

function rules(): { readonly live: Set<string>; readonly struck: Set<string> } {
  const live = new Set<string>();
  const struck = new Set<string>();
  for (const [, strike, id] of readFileSync("docs/SPEC.md", "utf8").matchAll(RULE)) {
    (strike === undefined ? live : struck).add(id!);
  }
  return { live, struck };
}

function cited(): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of filesUnder("test", /\.(ts|py)$/)) {
    if (file.endsWith("architecture/spec.test.ts")) continue;
    for (const [, ids] of readFileSync(file, "utf8").matchAll(TITLE)) {
      for (const [, id] of ids!.matchAll(/\[([A-Z]\d+)\]/g)) found.set(id!, file);
    }
  }
  return found;
}

describe("docs/SPEC.md and the tests agree", () => {
  const { live, struck } = rules();

  it("has rules in every area", () => {
    for (const area of AREAS) expect([...live].some((id) => id.startsWith(area))).toBe(true);
  });

  it("no number is given twice", () => {
    const ids = [...readFileSync("docs/SPEC.md", "utf8").matchAll(RULE)].map(([, , id]) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it("each live rule has a test whose title starts with its number", () => {
    const titles = cited();
    const missing = [...live].filter((id) => AREAS.includes(id[0]!) && !titles.has(id));
    expect(missing, `rules without a test: ${missing.join(" ")}`).toEqual([]);
  });

  it("no title cites a rule that does not exist or is struck", () => {
    const areas = new Set([...live, ...struck].map((id) => id[0]));
    const dangling = [...cited()].filter(([id]) => areas.has(id[0]) && !live.has(id));
    expect(dangling).toEqual([]);
  });
});
