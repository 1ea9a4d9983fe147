/**
 * Brings node_modules to what the lock file says, and only when it differs, so that a second start needs no network.
 * Whether it differs is read from npm's own record of what it installed; there is no stamp that could lie.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MODULES, ROOT, mustRun, run, say } from "./project.mjs";

const NODE_MAJOR = "24";
const MIN_SYSTEM_NODE = 20;

function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : null;
}

/** Brings a folder with a lock file of its own to what that says; null, or why not. */
export async function installFolder(folder) {
  const wanted = packagesOf(join(folder, "package-lock.json"));
  const present = packagesOf(join(folder, "node_modules/.package-lock.json"));
  if (installReason(wanted, present) === null) return null;
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const { code, output } = await run(...npm(["ci", ...flags, "--prefix", folder]));
  return code === 0 ? null : (output.trim().split("\n").at(-1) ?? `npm ended with ${code}`);
}

/** Packages of bench/, which only its comparison needs. */
export async function ensureBenchInstalled() {
  const bench = join(ROOT, "bench");
  const wanted = packagesOf(join(bench, "package-lock.json"));
  const reason = installReason(wanted, packagesOf(join(bench, "node_modules/.package-lock.json")));
  if (reason === null) return;
  say(`Installing the peers in bench/ (${reason}) ...`);
  await mustRun(
    "Installing the peers",
    ...npm(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", bench]),
  );
}

/** Why an install is needed, or null. Packages of other platforms are optional and rightly absent. */
export function installReason(wanted, present) {
  if (present === null) return "nothing is installed yet";
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = present[path];
    if (found === undefined && entry.optional) continue;
    if (found?.version !== entry.version) return `${path} differs from package-lock.json`;
  }
  return null;
}

function npm(args) {
  // Under `npm start` the running npm is named by the environment; it may be on no path.
  const cli = process.env.npm_execpath;
  return cli === undefined ? ["npm", args] : [process.execPath, [cli, ...args]];
}

async function hasProjectNode() {
  const binary = join(MODULES, ".bin/node");
  if (!existsSync(binary)) return false;
  try {
    const { code, output } = await run(binary, ["--version"]);
    return code === 0 && output.startsWith(`v${NODE_MAJOR}.`);
  } catch {
    return false;
  }
}

export async function ensureInstalled() {
  if (Number(process.versions.node.split(".")[0]) < MIN_SYSTEM_NODE) {
    say(`Holdfast needs Node ${MIN_SYSTEM_NODE} or newer to start; this is ${process.version}.`);
    process.exit(1);
  }
  const wanted = packagesOf(join(ROOT, "package-lock.json"));
  const reason = installReason(wanted, packagesOf(join(MODULES, ".package-lock.json")));
  if (reason !== null) {
    say(`Installing packages (${reason}); this happens once and takes a minute ...`);
    await mustRun(
      "Installing packages",
      ...npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"]),
    );
  }
  if (await hasProjectNode()) return;
  // With install scripts switched off the package `node` is there and its binary is not.
  const repair = join(MODULES, "node/installArchSpecificPackage.js");
  say(`Fetching Node ${NODE_MAJOR} for this project ...`);
  await mustRun(`Fetching Node ${NODE_MAJOR}`, process.execPath, [repair]);
  if (await hasProjectNode()) return;
  say(`node_modules/.bin/node is not Node ${NODE_MAJOR}. Delete node_modules and try again.`);
  process.exit(1);
}
