/** What is run, in which version: the suites' own packages, under two names in package.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const HERE = import.meta.dirname;

export interface Suite {
  readonly name: string;
  readonly entry: string;
  readonly version: string;
  readonly args: readonly string[];
}

const TASKS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

/** Scenarios that judge an authorization server: how it is found, and a sign-in from the app's question to its tokens. */
export const AUTHORIZATION = suite("authorization", "conformance-0.2", []);

export const SUITES: readonly Suite[] = [
  suite("conformance", "conformance-0.1", ["--suite", "all"]),
  suite("requirements-2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"]),
  suite("requirements-2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"]),
  ...TASKS.map((name) => suite(name, "conformance-0.2", ["--scenario", name])),
];

/** Hoisted: the constants above are made of it. */
function suite(name: string, folder: string, args: readonly string[]): Suite {
  const own = join(HERE, "node_modules", folder);
  const { version } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as {
    version: string;
  };
  return { name, entry: join(own, "dist/index.js"), version, args };
}
