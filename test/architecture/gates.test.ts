/**
 * Sees the lint gate fail. Each import boundary and ban gets one violating file, planted in a temporary project with the
 * real configuration; the linter must exit non-zero and name the rule. A clean control must pass, or the gate would be
 * "failing" for another reason.
 */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const BOUNDARY = "no-restricted-imports";
const UNTYPED = ".oxlintrc.untyped.json";
const GLOBAL = "no-restricted-globals";

interface Planted {
  readonly file: string;
  readonly source: string;
  readonly rule: string;
}

const use = (specifier: string): string =>
  `import { thing } from "${specifier}";\nexport const used = thing;\n`;
const crossing = (folder: string, specifier: string): Planted => ({
  file: `${folder}/planted.ts`,
  source: use(specifier),
  rule: BOUNDARY,
});

/** One forbidden neighbour and one forbidden platform or package import for each row of the import table. */
const CROSSINGS: readonly Planted[] = [
  crossing("src/shared", "#kernel/x.ts"),
  crossing("src/kernel", "#runner/x.ts"),
  crossing("src/kernel", "#ports/x.ts"),
  crossing("src/kernel", "../runner/x.ts"),
  crossing("src/ports", "#kernel/x.ts"),
  crossing("src/ports", "#adapters/x.ts"),
  crossing("src/audit", "#runner/x.ts"),
  crossing("src/budget", "#runner/x.ts"),
  crossing("src/memory", "#adapters/x.ts"),
  crossing("src/sandbox", "#tools/x.ts"),
  crossing("src/coordination", "#runner/x.ts"),
  crossing("src/authoring", "#tools/x.ts"),
  crossing("src/tools", "#runner/x.ts"),
  crossing("src/agents", "#kernel/x.ts"),
  crossing("src/runner", "#adapters/x.ts"),
  crossing("src/runner", "#tools/x.ts"),
  crossing("src/auth", "#kernel/x.ts"),
  crossing("src/observability", "#kernel/x.ts"),
  crossing("src/db", "#ports/x.ts"),
  crossing("src/adapters/log", "#runner/x.ts"),
  crossing("src/adapters/log", "#kernel/x.ts"),
  crossing("src/adapters/log", "#adapters/model/x.ts"),
  crossing("src/adapters/sql", "hono"),
  crossing("src/adapters/hasher", "node:fs"),
  crossing("src/adapters/model", "hono"),
  crossing("src/adapters/sandbox", "#tools/x.ts"),
  crossing("src/adapters/directory", "ai"),
  crossing("src/protocols/rest", "#protocols/mcp/wire.ts"),
  crossing("src/protocols/rest", "#durable-objects/x.ts"),
  crossing("src/protocols/rest", "agents"),
  crossing("src/protocols/websocket", "#ports/x.ts"),
  crossing("src/protocols/mcp", "#protocols/rest/wire.ts"),
  crossing("src/protocols/a2a", "#runner/x.ts"),
  crossing("src/protocols/ag-ui", "#kernel/x.ts"),
  crossing("src/protocols/openai", "ai"),
  crossing("src/protocols/openai", "#protocols/rest/routes.ts"),
  crossing("src/protocols/common", "#protocols/rest/errors.ts"),
  crossing("src/http", "#runner/x.ts"),
  crossing("durable-objects", "#protocols/rest/wire.ts"),
  crossing("durable-objects/agent", "#http/app.ts"),
  crossing("workflows", "#durable-objects/x.ts"),
  crossing("workflows", "agents"),
  crossing("client", "../src/protocols/rest/wire.ts"),
  crossing("client", "../src/protocols/rest/routes.ts"),
  crossing("client", "../src/runner/x.ts"),
  crossing("client", "#shared/x.ts"),
  crossing("client", "zod"),
  crossing("client", "node:fs"),
  crossing("web", "#protocols/rest/wire.ts"),
  crossing("web", "#kernel/events.ts"),
  crossing("src/runner", "#test/support/x.ts"),
  { file: "scripts/planted.mjs", source: use("wrangler"), rule: BOUNDARY },
];

/** The spellings by which an import could slip past a rule that only knows `import ... from`. */
const SPELLINGS: readonly Planted[] = [
  {
    file: "src/kernel/planted.ts",
    source: 'import type { X } from "#runner/x.ts";\nexport type Y = X;\n',
    rule: BOUNDARY,
  },
  {
    file: "src/kernel/planted.ts",
    source: 'export { x } from "#runner/x.ts";\n',
    rule: BOUNDARY,
  },
  {
    file: "src/kernel/planted.ts",
    source: 'export const later = () => import("node:fs");\n',
    rule: BOUNDARY,
  },
  {
    file: "src/kernel/planted.ts",
    source: 'export type Y = import("agents").Agent;\n',
    rule: "consistent-type-imports",
  },
];

/** Folders that must also run in plain Node and in a test: no platform, no framework, no Node. */
const PLATFORM = ["cloudflare:workers", "agents", "hono", "ai", "node:crypto"];
const PLATFORM_FREE = [
  "src/shared",
  "src/kernel",
  "src/ports",
  "src/runner",
  "src/memory",
  "src/sandbox",
  "src/coordination",
  "src/audit",
  "src/budget",
  "src/tools",
];

const IMPURE: readonly Planted[] = [
  ...[
    "Date.now()",
    "crypto.randomUUID()",
    'fetch("https://example.com")',
    "setTimeout(() => {}, 1)",
    'console.log("x")',
    "performance.now()",
    "globalThis",
  ].map((expression) => ({
    file: "src/kernel/planted.ts",
    source: `export const value = () => ${expression};\n`,
    rule: GLOBAL,
  })),
  {
    file: "src/kernel/planted.ts",
    source: "export const value = () => Math.random();\n",
    rule: "no-restricted-properties",
  },
];

/** These need types or another project than the boundary rules, so they run with the configuration unchanged. */
const HABITS: readonly Planted[] = [
  {
    file: "src/runner/planted.ts",
    source: "export const x = (value: any): number => value.x;\n",
    rule: "no-explicit-any",
  },
  {
    file: "src/runner/planted.ts",
    source:
      "async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}\n",
    rule: "no-floating-promises",
  },
  {
    file: "src/http/planted.ts",
    source: "export const say = (): void => console.log(1);\n",
    rule: "no-console",
  },
  {
    file: "test/unit/planted.test.ts",
    source: 'import { it } from "vitest";\nit.only("x", () => {});\n',
    rule: "no-focused-tests",
  },
];

/** Allowed neighbours, so that a boundary rule which refuses everything is noticed too. */
const CLEAN: readonly (readonly [file: string, specifier: string, typeOnly: boolean])[] = [
  ["src/kernel/clean.ts", "#shared/x.ts", false],
  ["src/kernel/clean.ts", "#ports/x.ts", true],
  ["src/kernel/clean.ts", "./x.ts", false],
  ["src/ports/clean.ts", "#kernel/x.ts", true],
  ["src/runner/clean.ts", "#kernel/x.ts", false],
  ["src/tools/clean.ts", "zod", false],
  ["src/adapters/hasher/clean.ts", "node:crypto", false],
  ["src/adapters/model/clean.ts", "ai", false],
  ["src/adapters/sandbox/clean.ts", "#sandbox/x.ts", false],
  ["src/protocols/rest/clean.ts", "@hono/zod-openapi", false],
  ["src/http/clean.ts", "#protocols/rest/routes.ts", false],
  ["durable-objects/clean.ts", "agents", false],
  ["workflows/clean.ts", "cloudflare:workers", false],
  ["client/clean.ts", "../src/protocols/rest/wire.ts", true],
  ["client/clean.ts", "zod", true],
  ["web/clean.ts", "#client/client.ts", false],
  ["src/worker.ts", "#durable-objects/x.ts", false],
];

let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "holdfast-gates-"));
  for (const name of [".oxlintrc.json", "package.json", "tsconfig.json"]) {
    copyFileSync(join(ROOT, name), join(project, name));
  }
  // Boundaries need no types; without the type checker a run is three times faster.
  const config = readFileSync(join(ROOT, ".oxlintrc.json"), "utf8");
  expect(config).toContain('"typeAware": true');
  writeFileSync(join(project, UNTYPED), config.replace('"typeAware": true', '"typeAware": false'));
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

interface Verdict {
  readonly code: number;
  readonly output: string;
}

function lint(config: string, files: readonly string[]): Promise<Verdict> {
  const binary = join(ROOT, "node_modules/oxlint/bin/oxlint");
  return new Promise((settle) => {
    execFile(
      process.execPath,
      [binary, "-c", config, "-f", "unix", ...files],
      { cwd: project },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code ?? 1);
        settle({ code, output: stdout + stderr });
      },
    );
  });
}

async function lintSources(
  sources: Readonly<Record<string, string>>,
  config: string = UNTYPED,
): Promise<Verdict> {
  const files = Object.keys(sources);
  try {
    for (const [file, source] of Object.entries(sources)) {
      mkdirSync(dirname(join(project, file)), { recursive: true });
      writeFileSync(join(project, file), source);
    }
    return await lint(config, files);
  } finally {
    for (const file of files) rmSync(join(project, file), { force: true });
  }
}

const titled = (plants: readonly Planted[]) =>
  plants.map((plant) => [plant.file, plant.source.trim().split("\n")[0] ?? "", plant] as const);

async function expectRefused(plant: Planted, config: string): Promise<void> {
  const verdict = await lintSources({ [plant.file]: plant.source }, config);
  expect(verdict.output).toContain(`(${plant.rule})`);
  expect(verdict.code).not.toBe(0);
}

describe("the linter fails on each planted violation", () => {
  it.each(titled([...CROSSINGS, ...SPELLINGS, ...IMPURE]))("%s: %s", (_file, _line, plant) =>
    expectRefused(plant, UNTYPED),
  );

  it.each(titled(HABITS))("%s: %s", (_file, _line, plant) =>
    expectRefused(plant, ".oxlintrc.json"),
  );

  it.each(PLATFORM_FREE)("%s imports the platform", async (folder) => {
    const source = PLATFORM.map((name, at) => `export * as p${at} from "${name}";\n`).join("");
    const verdict = await lintSources({ [`${folder}/planted.ts`]: source });
    for (const name of PLATFORM) expect(verdict.output).toContain(`'${name}' import is restricted`);
    expect(verdict.code).not.toBe(0);
  });

  it("an import cycle", async () => {
    const verdict = await lintSources({
      "src/kernel/one.ts": 'import { two } from "./two.ts";\nexport const one = () => two;\n',
      "src/kernel/two.ts": 'import { one } from "#kernel/one.ts";\nexport const two = () => one;\n',
    });
    expect(verdict.output).toContain("(no-cycle)");
    expect(verdict.code).not.toBe(0);
  });
});

describe("the linter passes what the import table allows", () => {
  it.each(CLEAN)("%s imports %s (types only: %s)", async (file, specifier, typeOnly) => {
    const source = typeOnly
      ? `import type { Thing } from "${specifier}";\nexport type Used = Thing;\n`
      : `import * as things from "${specifier}";\nexport const count = Object.keys(things).length;\n`;
    const verdict = await lintSources({ [file]: source });
    expect(verdict).toEqual({ code: 0, output: expect.any(String) });
  });
});
