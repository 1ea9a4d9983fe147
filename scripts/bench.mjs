/**
 * `npm run bench [-- --save] [--rounds N] [--steps N]`: what durability costs, as ratios of one run, and what the bundle
 * weighs. `npm run bench -- peers [--save] [--rounds N] [--only fresh,rows,deep,kills,memory]`: a run against those of
 * the peers, whose packages are installed in bench/ on first use. `npm run bench -- verify`: events a second of the verifier
 * of exports. `npm run bench -- protocols [--save]`: what a protocol costs beside REST/SSE, and a stream to 100 subscribers.
 * Takes minutes, and means something only on a machine
 * that does nothing else.
 */
import { join } from "node:path";
import { ensureBenchInstalled, ensureInstalled } from "./lib/install.mjs";
import { ROOT, mustRun, say } from "./lib/project.mjs";

const [first, ...rest] = process.argv.slice(2);
await ensureInstalled();
if (first === "peers") await comparePeers(rest);
else if (first === "protocols") await compareProtocols(rest);
else if (first === "verify")
  await mustRun("The bench", "node", ["--disable-warning=ExperimentalWarning", "bench/verify.ts"], {
    live: true,
  });
else await measureDurability(process.argv.slice(2));

async function measureDurability(args) {
  await build("bench/wrangler.toml", "../dist/bench");
  await measure("bench/run.mjs", "dist/bench/worker.js", args);
  await mustRun("Weighing the bundle", "node", ["scripts/bundle.mjs"], { live: true });
}

async function compareProtocols(args) {
  await build("bench/protocols/wrangler.toml", "../../dist/protocols");
  await measure("bench/protocols/measure.mjs", "dist/protocols/worker.js", args);
}

async function comparePeers(args) {
  await ensureBenchInstalled();
  // `agents` is the product's own copy, and looks for its optional packages beside itself.
  const aliases = [
    `@cloudflare/codemode:${join(ROOT, "bench/node_modules/@cloudflare/codemode/dist/index.js")}`,
    `just-bash:${join(ROOT, "bench/peers/no-bash.ts")}`,
  ];
  await build(
    "bench/peers/wrangler.toml",
    "../../dist/peers",
    aliases.flatMap((alias) => ["--alias", alias]),
  );
  await measure("bench/compare.mjs", "dist/peers/worker.js", args);
}

async function build(config, out, extra = []) {
  const args = ["deploy", "--dry-run", "-c", config, "--outdir", out, ...extra];
  await mustRun("Building the bench", "wrangler", args);
}

async function measure(program, script, args) {
  say("Measuring; this takes some minutes ...");
  await mustRun("The bench", "node", [program, "--script", script, ...args], { live: true });
}
