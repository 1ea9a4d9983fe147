/**
 * Builds dist/assets, so that everything the Worker serves needs no network: the page (web/, by vite) under `app/` and the
 * files of the API reference, from the package as installed, under `swagger/`.
 *
 * The page is built when its sources, the lock file or this script differ from what was built last; otherwise this takes
 * milliseconds. Several builds may run at once: each builds beside the target and moves its own in.
 */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { MODULES, ROOT, mustRun } from "./lib/project.mjs";

const SWAGGER = [
  "swagger-ui.css",
  "swagger-ui-bundle.js",
  "favicon-32x32.png",
  "LICENSE",
  "NOTICE",
];
const ASSETS = join(ROOT, "dist/assets");
const APP = join(ASSETS, "app");
/** Beside the assets, not among them: it is nothing to serve. */
const BUILT = join(ROOT, "dist/app.sha256");

function sourcesDigest() {
  const web = ["web", "client"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const files = [...web, join(ROOT, "package-lock.json"), join(ROOT, "scripts/build-assets.mjs")];
  const hash = createHash("sha256");
  for (const file of files.sort())
    hash.update(file).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

async function buildPage() {
  const digest = sourcesDigest();
  const built = existsSync(BUILT) && existsSync(APP) ? readFileSync(BUILT, "utf8") : null;
  if (built === digest) return;
  const own = join(ROOT, `dist/app-${process.pid}`);
  const options = ["build", "web", "--outDir", own, "--logLevel", "warn"];
  // Whatever runs this, a test runner included, gets the same page.
  await mustRun("Building the page", "vite", options, { env: { NODE_ENV: "production" } });
  rmSync(APP, { recursive: true, force: true });
  try {
    renameSync(own, APP);
  } catch (error) {
    // Another build of the same sources was quicker.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    rmSync(own, { recursive: true, force: true });
  }
  writeFileSync(BUILT, digest);
}

mkdirSync(join(ASSETS, "swagger"), { recursive: true });
for (const file of SWAGGER) {
  copyFileSync(join(MODULES, "swagger-ui-dist", file), join(ASSETS, "swagger", file));
}
await buildPage();
