/** `npm run setup`: installs what the lock file says. Every other command of the project does this first by itself. */
import { ensureInstalled } from "./lib/install.mjs";
import { say } from "./lib/project.mjs";

await ensureInstalled();
say("Packages are as package-lock.json says.");
