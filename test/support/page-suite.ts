/** What every file of the browser suite stands on: a server with the page's own test build, and one browser. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { openBrowser, Tab, type Browser } from "./browser.ts";
import { createDevServer, type DevServer } from "./dev-server.ts";

export interface PageSuite {
  readonly server: DevServer;
  readonly browser: Browser;
  /** A new tab, signed in, at a path of the page. */
  open(path?: string): Promise<Tab>;
}

/** Registers the hooks of a file; what it answers may be used from its first test on. */
export function usePage(): PageSuite {
  let server: DevServer | null = null;
  let browser: Browser | null = null;

  beforeAll(async () => {
    server = await createDevServer({ main: "test/support/page-worker.ts" });
    [browser] = await Promise.all([openBrowser(), server.start()]);
  });
  afterEach(async () => {
    for (const page of browser?.context.pages().slice(1) ?? []) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  const started = <T>(part: T | null): T => {
    if (part === null) throw new Error("the suite has not started");
    return part;
  };
  return {
    get server() {
      return started(server);
    },
    get browser() {
      return started(browser);
    },
    open: (path = "#/obeys") => Tab.open(started(browser).context, started(server), path),
  };
}
