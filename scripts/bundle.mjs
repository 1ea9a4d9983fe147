/**
 * `npm run bundle`: builds the production Worker without deploying it, and shows what each package weighs in it. Fails when
 * a package above the limit has no reason in docs/dependencies.md (`- **name**: reason`).
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT, mustRun, say } from "./lib/project.mjs";

const LIMIT_KIB = 100;
const kib = (bytes) => Math.round(bytes / 1024);

/** `node_modules/@scope/name/x.js` to `@scope/name`, the last one when packages nest; null for our own code. */
function packageOf(path) {
  const at = path.lastIndexOf("node_modules/");
  if (at === -1) return null;
  const parts = path.slice(at + "node_modules/".length).split("/");
  return parts[0].startsWith("@") ? `${parts[0]}/${parts[1]}` : parts[0];
}

function weigh(metafile) {
  const weights = new Map();
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const name = packageOf(path) ?? "(own code)";
      weights.set(name, (weights.get(name) ?? 0) + bytesInOutput);
    }
  }
  return weights;
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
try {
  const metafile = join(folder, "meta.json");
  const out = ["--outdir", join(folder, "out"), `--metafile=${metafile}`];
  await mustRun("Building the Worker", "wrangler", [
    "deploy",
    "--dry-run",
    "-c",
    "wrangler.toml",
    ...out,
  ]);
  const built = readdirSync(join(folder, "out")).filter((name) => !/\.(map|md)$/.test(name));
  const files = built.map((name) => join(folder, "out", name));
  const raw = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const packed = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
  say(`Worker: ${kib(raw)} KiB, ${kib(packed)} KiB gzip`);

  const reasons = readFileSync(join(ROOT, "docs/dependencies.md"), "utf8");
  const weights = [...weigh(JSON.parse(readFileSync(metafile, "utf8")))];
  for (const file of files.filter((name) => name.endsWith(".wasm"))) {
    weights.push(["@jitl/quickjs-wasmfile-release-sync", statSync(file).size]);
  }
  const heavy = weights.filter(([, bytes]) => kib(bytes) >= LIMIT_KIB);
  heavy.sort(([, a], [, b]) => b - a);
  for (const [name, bytes] of heavy) say(`${String(kib(bytes)).padStart(6)} KiB  ${name}`);
  const unexplained = heavy
    .map(([name]) => name)
    .filter((name) => name !== "(own code)" && !reasons.includes(`- **${name}**: `));
  if (unexplained.length > 0) {
    say(
      `Over ${LIMIT_KIB} KiB without a reason in docs/dependencies.md: ${unexplained.join(", ")}`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
