/** The comparison's workerd: one process on one port, which can be killed and started again over the same storage. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

const CLASSES = ["HoldfastPeer", "ChatPeer", "ThinkPeer"];
const TICK_MS = 10;

export class BenchServer {
  #miniflare = null;
  #options;
  #state;

  static async start(scriptPath, { inspectorPort } = {}) {
    const server = new BenchServer();
    server.#state = mkdtempSync(join(tmpdir(), "holdfast-peers-"));
    server.port = await freePort();
    server.#options = {
      modules: true,
      scriptPath,
      host: "127.0.0.1",
      port: server.port,
      cf: false,
      log: new Log(LogLevel.ERROR),
      logRequests: false,
      compatibilityDate: "2026-11-01",
      compatibilityFlags: ["nodejs_compat"],
      durableObjects: Object.fromEntries(
        CLASSES.map((className) => [className, { className, useSQLite: true }]),
      ),
      resourcePersistencePath: server.#state,
      // What a killed run leaves behind is no news.
      handleRuntimeStdio: (stdout, stderr) => {
        stdout.resume();
        if (process.env.BENCH_LOG) stderr.pipe(process.stderr);
        else stderr.resume();
      },
      ...(inspectorPort === undefined ? {} : { inspectorPort }),
    };
    await server.up();
    return server;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Where a profiler attaches; only with `inspectorPort`. */
  inspectorUrl() {
    return this.#miniflare.getInspectorURL();
  }

  async up() {
    this.#miniflare = new Miniflare(convertV4MiniflareOptions(this.#options));
    await this.#miniflare.ready;
    this.pid = workerdOf(process.pid).at(-1);
  }

  /** SIGKILL to workerd alone: nothing of it gets to say goodbye. */
  kill() {
    process.kill(this.pid, "SIGKILL");
  }

  async discard() {
    await this.#miniflare.dispose().catch(() => undefined);
  }

  async dispose() {
    await this.discard();
    rmSync(this.#state, { recursive: true, force: true });
  }

  async get(path, body) {
    const response = await fetch(`${this.origin}/${path}`, {
      method: body === undefined ? "GET" : "POST",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text.slice(0, 500)}`);
    return text;
  }

  /** User and system time of workerd in milliseconds; null where there is no /proc. */
  cpu() {
    const stat = statOf(this.pid);
    return stat === null ? null : (Number(stat[11]) + Number(stat[12])) * TICK_MS;
  }

  /** Resident memory of workerd in MiB; null where there is no /proc. */
  memory() {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
    } catch {
      return null;
    }
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Our own workerd children, oldest first. */
function workerdOf(parent) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.[1] === String(parent) && commandOf(pid).includes("workerd"))
    .toSorted((a, b) => a - b);
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Fields of /proc/PID/stat from the state on; the name before it may hold spaces. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  } catch {
    return null;
  }
}
