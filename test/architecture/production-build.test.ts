/** What the production Worker is made of: every file that its entry reaches through imports. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const IMPORT = /(?:from|import)\s*\(?\s*"([^"]+)"/g;

const { imports } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** A file of ours, or null for a package. */
function toFile(specifier: string, importer: string): string | null {
  if (specifier.startsWith(".")) return join(dirname(importer), specifier);
  const [key = "", target = ""] =
    Object.entries(imports).find(([name]) => specifier.startsWith(name.replace("*", ""))) ?? [];
  if (key === "") return null;
  return join(target.replace("*", specifier.slice(key.length - 1)));
}

function reachableFrom(entry: string): readonly string[] {
  const seen = new Set([entry]);
  for (const file of seen) {
    if (!/\.(ts|mjs)$/.test(file) || !existsSync(file)) continue;
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const next = toFile(specifier!, file);
      if (next !== null) seen.add(next);
    }
  }
  return [...seen].toSorted();
}

const clocksIn = (files: readonly string[]): readonly string[] =>
  files.filter(
    (file) => existsSync(file) && /implements [^{]*\bClock\b/.test(readFileSync(file, "utf8")),
  );

describe("the production build", () => {
  const production = reachableFrom("src/worker.ts");

  it("is walked through every layer", () => {
    for (const file of ["src/kernel/evolve.ts", "durable-objects/agent-object.ts"]) {
      expect(production).toContain(file);
    }
  });

  it("[Z6] reaches no file of the tests, and no clock but the system's", () => {
    expect(production.filter((file) => file.startsWith("test/"))).toEqual([]);
    expect(clocksIn(production)).toEqual(["src/adapters/clock/system-clock.ts"]);
  });

  it("[Z6] unlike the test build, whose clock can be moved", () => {
    const clocks = clocksIn(reachableFrom("test/support/worker.ts"));
    expect(clocks.filter((file) => file.startsWith("test/"))).not.toEqual([]);
  });
});
