/**
 * Suites by runtime. `node` is pure and fast; `workers` runs inside workerd; `sigkill` starts and kills real servers and
 * is a command of its own.
 */
import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import agents from "agents/vite";
import { defineConfig } from "vitest/config";

/** What a call in flight rejects with when a test crashes its object: by all objects at once, or `ctx.abort(CRASH)`. */
const ABORTED_ALL = "Application called abortAllDurableObjects().";
const CRASH = "test: crash";

interface Unhandled {
  readonly type?: string;
  readonly message?: string;
  readonly durableObjectReset?: boolean;
}

/**
 * Each rejected object call is reported a second time as unhandled, even where the test caught it. Only the two crashes
 * that tests make on purpose are dropped, by exact message; any other rejection is a floating promise and fails the run.
 */
function onUnhandledError(error: unknown): false | undefined {
  const { type, message, durableObjectReset = false } = error as Unhandled;
  if (type !== "Unhandled Rejection") return undefined;
  return message === ABORTED_ALL || (durableObjectReset && message === CRASH) ? false : undefined;
}

/** By default two cores get one worker. Test files wait much (imports, timers, servers), so two share them well. */
const MAX_WORKERS = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    maxWorkers: MAX_WORKERS,
    onUnhandledError,
    // A server under test logs its requests; they matter where a test failed.
    silent: "passed-only",
    projects: [
      {
        test: {
          name: "node",
          setupFiles: ["test/support/property-seed.ts"],
          include: ["test/{unit,property,contracts,crash,architecture}/**/*.test.ts"],
          exclude: ["test/crash/sigkill/**"],
          testTimeout: 30_000,
        },
      },
      {
        // agents() first: it lowers the decorators that the Cloudflare plugin would otherwise hand to workerd as they are.
        plugins: [
          agents(),
          cloudflareTest({
            main: "./test/support/worker.ts",
            wrangler: { configPath: "./wrangler.dev.toml" },
            remoteBindings: false,
          }),
        ],
        test: {
          name: "workers",
          include: ["test/workers/**/*.test.ts"],
          // The first import of the SDK and its models takes many seconds.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Published clients against a real server.
        test: {
          name: "conformance",
          globalSetup: ["test/support/bundle-once.ts"],
          include: ["test/conformance/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        // What needs packages of its own: `npm run test:kits` installs them first.
        test: {
          name: "kits",
          globalSetup: ["test/support/bundle-once.ts"],
          include: ["test/kits/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        // The page in Chromium; `npm run test:browser` looks for the browser first.
        test: {
          name: "browser",
          globalSetup: ["test/support/prepared-state.ts"],
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "sigkill",
          globalSetup: ["test/support/prepared-state.ts"],
          include: ["test/crash/sigkill/**/*.test.ts"],
          // 25 rounds of a kill and a start; a start takes half a minute where the machine is shared.
          testTimeout: 1_800_000,
          // A first start builds the Worker and its databases: a minute and more where the machine is shared.
          hookTimeout: 400_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
