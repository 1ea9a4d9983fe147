/**
 * `npm run test:browser`: the page in Chromium against a real server. Says `skipped: why` where there is no browser, unless
 * HOLDFAST_REQUIRE_BROWSER=1 makes that a failure. HOLDFAST_CHROMIUM names another binary.
 */
import { existsSync } from "node:fs";
import { run, say } from "./lib/project.mjs";

const CHROMIUM = process.env.HOLDFAST_CHROMIUM || "/usr/bin/chromium";

if (!existsSync(CHROMIUM)) {
  const required = process.env.HOLDFAST_REQUIRE_BROWSER === "1";
  const why = `there is no ${CHROMIUM} (Debian: apt-get install chromium; or set HOLDFAST_CHROMIUM)`;
  say(required ? `A browser is required: ${why}` : `skipped: ${why}`);
  process.exit(required ? 1 : 0);
}
const { code } = await run(process.execPath, ["scripts/test.mjs", "browser"], { live: true });
process.exit(code);
