/** wrangler.toml is production, wrangler.dev.toml is local: what is stored and how it is reached must be the same. */
import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

type Table = Readonly<Record<string, unknown>>;

const load = (file: string): Table => parse(readFileSync(file, "utf8"));
const production = load("wrangler.toml");
const local = load("wrangler.dev.toml");
const CONFIGS = ["wrangler.toml", "wrangler.dev.toml"];

/** Ids name resources of one account and differ by design; names and bindings do not. */
const withoutIds = (tables: unknown): unknown =>
  (tables as readonly Table[]).map((table) =>
    Object.fromEntries(Object.entries(table).filter(([key]) => !key.endsWith("_id"))),
  );

describe("the two wrangler files agree", () => {
  it.each([
    "main",
    "compatibility_date",
    "compatibility_flags",
    "keep_names",
    "durable_objects",
    "migrations",
    "r2_buckets",
    "worker_loaders",
    "workflows",
    "rules",
    "assets",
    "build",
  ])("on %s", (key) => {
    expect(local[key]).toEqual(production[key]);
  });

  it("on D1 apart from its id", () => {
    expect(withoutIds(local["d1_databases"])).toEqual(withoutIds(production["d1_databases"]));
  });

  it("on KV apart from its id", () => {
    const withoutId = (config: Table): unknown =>
      (config["kv_namespaces"] as readonly Table[]).map(({ binding }) => binding);
    expect(withoutId(local)).toEqual(withoutId(production));
  });

  it("on the names of variables", () => {
    const names = (config: Table): string[] => Object.keys(config["vars"] as Table).toSorted();
    expect(names(local)).toEqual(names(production));
  });
});

describe("each wrangler file", () => {
  it("has all three classes in migration v1, so that no later deploy must add one", () => {
    expect(production["migrations"]).toEqual([
      { tag: "v1", new_sqlite_classes: ["AgentObject", "MemoryObject", "LedgerObject"] },
    ]);
  });

  it("local has nothing that needs an account", () => {
    expect([local["ai"], local["vectorize"], local["account_id"]]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each(CONFIGS)("%s explains each binding and variable in a comment", (file) => {
    const blocks = readFileSync(file, "utf8").split("\n\n");
    const bare = blocks.flatMap((block) => {
      const lines = block.split("\n");
      const explained = lines[0]?.startsWith("#") === true;
      return lines.filter((line, at) => {
        if (line.trimStart().startsWith("{ name = ")) return !line.includes("# ");
        if (/^[A-Z][A-Z0-9_]+ = /.test(line)) return !(lines[at - 1] ?? "").startsWith("#");
        return line.startsWith("binding = ") && !explained;
      });
    });
    expect(bare).toEqual([]);
  });
});
