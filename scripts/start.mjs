/**
 * `npm start`: from a clean clone to a running server, with nothing asked. Installs, prepares local state, serves until
 * Ctrl-C. `--port N` and `--state DIR` override 8787 and .holdfast; `--slow` makes the embedded model pause, so that there
 * is time to kill the server in the middle of an answer.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { banner } from "./lib/banner.mjs";
import { isHealthy, leftover, startServer } from "./lib/dev-server.mjs";
import {
  DEV_CONFIG,
  devState,
  forgetServer,
  prepareState,
  writeJson,
  writeModelEnv,
} from "./lib/dev-state.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { signInLink } from "./lib/sign-in-link.mjs";
import { freePort } from "./lib/ports.mjs";
import { ROOT, mustRun, say } from "./lib/project.mjs";

/** For lines that are on their way when the banner is printed. */
const QUIET_MS = 500;
const USAGE = `npm start -- [options]

  --port N      port to listen on (default 8787, or PORT; the next free one where it is taken)
  --state DIR   where everything is kept (default .holdfast)
  --slow        the embedded model pauses between words, so that there is time to kill it
  --config FILE another wrangler configuration
  --help        this`;

function readOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: "boolean", default: false },
        port: { type: "string", default: process.env.PORT ?? "8787" },
        state: { type: "string", default: ".holdfast" },
        config: { type: "string", default: DEV_CONFIG },
        slow: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    say(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const values = readOptions();
if (values.help) {
  say(USAGE);
  process.exit(0);
}

if (values.slow) process.env.HOLDFAST_SCRIPTED_PACE_MS ??= "700";
await ensureInstalled();
const state = devState(resolve(ROOT, values.state));
const running = await leftover(state);
if (running !== null && (await isHealthy(running))) {
  say(`Holdfast already runs at ${running} on ${values.state}. Stop it first, or use --state.`);
  process.exit(1);
}

say("Starting Holdfast ...");
await mustRun("Building assets", process.execPath, ["scripts/build-assets.mjs"]);
const client = await prepareState(state, values.config);
const model = writeModelEnv(state);
const port = await freePort(Number(values.port));

let stopping = false;
let server = null;
// What the server logs of this command's own request for a link would stand before the banner.
let told = false;
async function end(signal) {
  if (stopping) return;
  stopping = true;
  say(`\n${signal}: stopping ...`);
  await server?.stop();
  forgetServer(state);
  process.exit(0);
}
process.on("SIGINT", () => void end("SIGINT"));
process.on("SIGTERM", () => void end("SIGTERM"));

try {
  const onLine = (line) => {
    if (told) say(`  ${line}`);
  };
  server = await startServer({ state, config: values.config, port, onLine });
} catch (error) {
  say(error.message);
  process.exit(1);
}
writeJson(state.client, { ...client, url: server.url });
const link = await signInLink({ url: server.url, key: client.key });
say(
  banner({
    url: server.url,
    link,
    model,
    wantedPort: Number(values.port),
    port,
    state: values.state,
  }),
);
setTimeout(() => (told = true), QUIET_MS).unref();

await server.exited;
if (!stopping) {
  say(
    `The server ended by itself; its log is ${state.log}. Run npm start again: runs go on where they were.`,
  );
  process.exit(1);
}
