import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENTS } from "#agents/registry.generated.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, "src", "agents");

describe("list of agents", () => {
  it("[K18] is what the generator makes of the folder", () => {
    expect(() =>
      execFileSync(process.execPath, [join(ROOT, "scripts/build-agents.mjs"), "--check"], {
        stdio: "pipe",
      }),
    ).not.toThrow();
  });

  it("[K18] is refused as stale when an agent is added and the list is not", () => {
    const copy = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
    try {
      mkdirSync(join(copy, "src/agents"), { recursive: true });
      mkdirSync(join(copy, "scripts"));
      copyFileSync(join(ROOT, "scripts/build-agents.mjs"), join(copy, "scripts/build-agents.mjs"));
      for (const name of readdirSync(FOLDER))
        copyFileSync(join(FOLDER, name), join(copy, "src/agents", name));
      const check = () =>
        execFileSync(process.execPath, [join(copy, "scripts/build-agents.mjs"), "--check"], {
          stdio: "pipe",
        });
      expect(check).not.toThrow();
      writeFileSync(join(copy, "src/agents/night-clerk.ts"), "export default null;\n");
      expect(check).toThrow(/stale/);
      execFileSync(process.execPath, [join(copy, "scripts/build-agents.mjs")]);
      expect(readFileSync(join(copy, "src/agents/registry.generated.ts"), "utf8")).toContain(
        'import nightClerk from "./night-clerk.ts";',
      );
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it("[K18] holds agents of distinct names, each in a file of at most 25 lines named after it", () => {
    const names = AGENTS.map((agent) => agent.manifest.name);
    expect(names).toEqual(["analyst", "clerk", "writer"]);
    for (const name of names) {
      const lines = readFileSync(join(FOLDER, `${name}.ts`), "utf8")
        .trimEnd()
        .split("\n");
      expect(lines.length, name).toBeLessThanOrEqual(25);
    }
  });
});
