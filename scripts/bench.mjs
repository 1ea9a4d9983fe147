/**
 * `npm run bench [-- --save] [--rounds N] [--steps N]`: what durability costs, as ratios of one run, and what the bundle
 * weighs. Takes minutes, and means something only on a machine that does nothing else.
 */
import { ensureInstalled } from "./lib/install.mjs";
import { mustRun, say } from "./lib/project.mjs";

await ensureInstalled();
const out = "dist/bench";
await mustRun("Building the bench", "wrangler", [
  "deploy",
  "--dry-run",
  "-c",
  "bench/wrangler.toml",
  "--outdir",
  `../${out}`,
]);
say("Measuring; this takes some minutes ...");
const args = ["bench/run.mjs", "--script", `${out}/worker.js`, ...process.argv.slice(2)];
await mustRun("The bench", "node", args, { live: true });
await mustRun("Weighing the bundle", "node", ["scripts/bundle.mjs"], { live: true });
