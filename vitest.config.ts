/**
 * Suites by runtime. `node` is pure and fast; `workers` runs inside workerd; `sigkill` starts and kills real servers and
 * is a command of its own.
 */
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import agents from "agents/vite";
import { defineConfig } from "vitest/config";

/** What workerd says of a call that was in flight when a test crashed its object on purpose. */
const CRASHES: ReadonlySet<string> = new Set([
  "Application called abortAllDurableObjects().",
  "Application called abort() to reset Durable Object.",
]);

interface ObjectReset {
  readonly message?: string;
  readonly durableObjectReset?: boolean;
}

/**
 * Each rejected object call is reported a second time as unhandled, even where the test caught it. Only the rejections of
 * crashes are dropped, by flag and exact message: any other one is a floating promise and fails the run.
 */
function onUnhandledError(error: unknown): false | undefined {
  const { message = "", durableObjectReset = false } = error as ObjectReset;
  return durableObjectReset && CRASHES.has(message) ? false : undefined;
}

export default defineConfig({
  test: {
    onUnhandledError,
    projects: [
      {
        test: {
          name: "node",
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
        test: {
          name: "sigkill",
          include: ["test/crash/sigkill/**/*.test.ts"],
          testTimeout: 900_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
