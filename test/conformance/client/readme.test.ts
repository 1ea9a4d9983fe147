/** The example of the README, as it stands there, in a process of its own. */
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
// Where the package's own imports hold, which a folder outside does not know.
const FILE = join(ROOT, "test/conformance/client/example.generated.ts");
let server: BundledServer;

beforeAll(async () => {
  server = await startBundled();
});
afterAll(async () => {
  rmSync(FILE, { force: true });
  await server.dispose();
});

function example(): string {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const [, section = ""] = readme.split("\n## The client\n");
  const [, code] = /```ts\n([^]*?)```/.exec(section) ?? [];
  if (code === undefined) throw new Error("the README has no example of the client");
  return code;
}

it("does what the README says", async () => {
  writeFileSync(FILE, example());
  const { stdout } = await promisify(execFile)(process.execPath, [FILE], {
    cwd: ROOT,
    env: { ...process.env, HOLDFAST_URL: server.url, HOLDFAST_KEY: server.key },
    timeout: 45_000,
  });
  expect(stdout).toContain("[run_code]");
  expect(stdout).toMatch(/\b2\b/);
  expect(stdout.trim().split("\n").at(-1)).toMatch(/^completed \d+$/);
});
