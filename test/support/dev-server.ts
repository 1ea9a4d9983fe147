/**
 * A real local server for crash tests: `wrangler dev` on a state directory of its own, which SIGKILL can take down at any
 * moment and `start` brings back on the same state. Owns its processes and ends them by process id.
 *
 * `discardState` is the negative control: a suite that still passes after it has proved nothing.
 */
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inject } from "vitest";
import { startServer } from "../../scripts/lib/dev-server.mjs";
import { DEV_CONFIG, devState, prepareState, writeModelEnv } from "../../scripts/lib/dev-state.mjs";
import { freePort } from "../../scripts/lib/ports.mjs";

const PORT_DEADLINE_MS = 10_000;
const PORT_POLL_MS = 50;
const ROOT = resolve(import.meta.dirname, "../..");

export interface DevServerOptions {
  /** Entry of the Worker, from the root of the repository; the configuration's own by default. */
  readonly main?: string;
  /** `NAME:value` pairs, over those of the configuration. */
  readonly vars?: readonly string[];
}

export interface DevServer {
  /** Of the running server. Stays the same over restarts. */
  readonly url: string;
  /** A service key of tenant `dev`. */
  readonly key: string;
  readonly stateDirectory: string;
  /** `vars` are of this start, over those of the options: another build on the same state. */
  start(vars?: readonly string[]): Promise<void>;
  /** Starts it and kills it after so many ms, most likely before it has answered anybody; resolves when none is left. */
  killWhileStarting(afterMs: number, vars?: readonly string[]): Promise<void>;
  /** SIGKILL to all of its processes at once; resolves when none is left. */
  kill(): Promise<void>;
  /** Loses everything stored. Only while it does not run. */
  discardState(): void;
  /** Ends it and removes its state. */
  dispose(): Promise<void>;
}

async function untilFree(port: number): Promise<void> {
  const deadline = Date.now() + PORT_DEADLINE_MS;
  for (;;) {
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return;
    if (Date.now() > deadline) throw new Error(`port ${port} is still in use`);
    await pause(PORT_POLL_MS);
  }
}

interface Running {
  readonly url: string;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export async function createDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-server-"));
  const state = devState(directory);
  const config = join(ROOT, DEV_CONFIG);
  const prepared = inject("preparedState");
  if (prepared !== undefined) cpSync(prepared, directory, { recursive: true });
  const client: { readonly key: string } = await prepareState(state, config);
  writeModelEnv(state);
  const port = await freePort();
  let running: Running | null = null;

  async function start(vars: readonly string[] = [], signal?: AbortSignal): Promise<void> {
    if (running !== null) throw new Error("the server runs already");
    // The key outlives its database, as it does when a deployment's storage is lost.
    if (!existsSync(state.storage)) await prepareState(state, config);
    running = await startServer({
      state,
      config,
      port,
      main: options.main === undefined ? undefined : join(ROOT, options.main),
      vars: [...(options.vars ?? []), ...vars],
      ...(signal === undefined ? {} : { signal }),
    });
  }
  async function killWhileStarting(afterMs: number, vars: readonly string[] = []): Promise<void> {
    const signal = AbortSignal.timeout(afterMs);
    await start(vars, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    await kill();
    // A child that was born while its tree was looked up dies with its group, a moment later.
    await untilFree(port);
  }
  async function kill(): Promise<void> {
    await running?.kill();
    running = null;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    key: client.key,
    stateDirectory: directory,
    start: (vars) => start(vars),
    killWhileStarting,
    kill,
    discardState() {
      if (running !== null) throw new Error("kill the server before its state");
      rmSync(state.storage, { recursive: true, force: true });
    },
    async dispose() {
      await running?.stop();
      running = null;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
