/** `node scripts/optional.mjs PATH -- COMMAND`: runs the command when the path is there, else says that it was skipped and why. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, say, toolEnv } from "./lib/project.mjs";

const [path, , command, ...args] = process.argv.slice(2);
if (!existsSync(join(ROOT, path))) {
  say(`skipped: ${path} does not exist yet`);
} else {
  const child = spawn(command, args, { cwd: ROOT, env: toolEnv(), stdio: "inherit" });
  child.once("exit", (code) => process.exit(code ?? 1));
}
