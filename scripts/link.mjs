/** `npm run link`: a new link into the page of the running server. `--state DIR` as for `npm start`. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { devState, readJson } from "./lib/dev-state.mjs";
import { ROOT, say } from "./lib/project.mjs";
import { signInLink } from "./lib/sign-in-link.mjs";

const { values } = parseArgs({ options: { state: { type: "string", default: ".holdfast" } } });
const client = readJson(devState(resolve(ROOT, values.state)).client);
const link = client?.url == null ? null : await signInLink(client);
if (link === null) {
  say(`No server of ${values.state} answers. Run npm start first.`);
  process.exit(1);
}
say(link);
