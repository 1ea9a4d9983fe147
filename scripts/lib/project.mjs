/** Paths of the project, and running its own tools with its own Node. Dependency-free: runs before anything is installed. */
import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const MODULES = join(ROOT, "node_modules");
const BIN = join(MODULES, ".bin");

/** The environment of a child: the project's Node and tools come first on the path; nothing phones home. */
export function toolEnv(extra = {}) {
  return {
    ...process.env,
    PATH: `${BIN}:${process.env.PATH ?? ""}`,
    WRANGLER_SEND_METRICS: "false",
    NO_UPDATE_NOTIFIER: "1",
    WRANGLER_LOG_PATH: join(ROOT, ".wrangler/logs"),
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    ...extra,
  };
}

/** Runs a command to its end; resolves with its code and its output, stdout and stderr as they came. */
export function run(command, args, options = {}) {
  return new Promise((settle, fail) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: toolEnv(options.env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text) => {
        output += text;
        if (options.live) process.stdout.write(text);
      });
    }
    child.once("error", fail);
    child.once("close", (code, signal) => settle({ code: code ?? 1, signal, output }));
  });
}

/** As `run`, and ends this process with the whole output when the command fails. */
export async function mustRun(what, command, args, options = {}) {
  const result = await run(command, args, options);
  if (result.code === 0) return result.output;
  process.stderr.write(`${result.output}\n${what} failed (${command} ${args.join(" ")})\n`);
  process.exit(1);
}

export function say(line) {
  process.stdout.write(`${line}\n`);
}
