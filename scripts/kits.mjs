/**
 * `npm run test:kits -- [NAME...]`: suites of others, and of ours that need heavy packages. Each is a folder of test/kits with
 * a package.json and a lock file of its own, installed when it is asked for. A kit whose packages cannot be had is skipped,
 * with the reason; a kit may have `requires.mjs`, whose default export answers why it cannot run here, or null.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installFolder } from "./lib/install.mjs";
import { ROOT, run, say } from "./lib/project.mjs";

const KITS = join(ROOT, "test/kits");
const CLOSING = /^\s*Tests\s+(?:(\d+) failed(?: \| )?)?(?:(\d+) passed)?/m;

const all = readdirSync(KITS).filter((name) => existsSync(join(KITS, name, "package.json")));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  say(`There is no kit ${unknown.join(", ")}. There are: ${all.join(", ")}.`);
  process.exit(2);
}

async function whyNot(folder) {
  const requires = join(folder, "requires.mjs");
  if (existsSync(requires)) {
    const reason = await (await import(pathToFileURL(requires))).default();
    if (reason !== null) return reason;
  }
  const failure = await installFolder(folder);
  return failure === null ? null : `its packages cannot be installed: ${failure}`;
}

/** Types and tests: the packages are only there once the kit is installed, so neither is part of the root's gates. */
async function runKit(name) {
  const folder = join(KITS, name);
  const types = existsSync(join(folder, "tsconfig.json"))
    ? await run("tsc", ["-p", folder], { live: true })
    : { code: 0 };
  if (types.code !== 0) return { passed: 0, failed: 1 };
  const args = ["run", "--project", "kits", `test/kits/${name}/`];
  const { code, output } = await run("vitest", args, { live: true });
  // eslint-disable-next-line no-control-regex
  const plain = output.replaceAll(/\u001B\[[0-9;]*m/g, "");
  const [, failed = 0, passed = 0] = CLOSING.exec(plain) ?? [];
  return { passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) };
}

const sum = { passed: 0, failed: 0, skipped: 0 };
for (const name of asked.length === 0 ? all : asked) {
  const reason = await whyNot(join(KITS, name));
  if (reason !== null) {
    say(`${name}: skipped, ${reason}`);
    sum.skipped += 1;
    continue;
  }
  const { passed, failed } = await runKit(name);
  sum.passed += passed;
  sum.failed += failed;
}
say(
  `${sum.passed} passed, ${sum.failed} failed${sum.skipped === 0 ? "" : `, ${sum.skipped} skipped`}`,
);
process.exit(sum.failed === 0 ? 0 : 1);
