/** Chromium, headless and offline but for the server under test, with a new profile; and the page as a person meets it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type BrowserContext, type Locator, type Page } from "playwright-core";
import { signInLink } from "../../scripts/lib/sign-in-link.mjs";
import type { DevServer } from "./dev-server.ts";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 360, height: 800 };

export interface Browser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

export async function openBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "holdfast-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env["HOLDFAST_CHROMIUM"] ?? "/usr/bin/chromium",
    args: FLAGS,
    viewport: WIDE,
    acceptDownloads: true,
  });
  context.setDefaultTimeout(15_000);
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** One tab, signed in by the link of `npm start`. Collects what a person would call broken. */
export class Tab {
  readonly page: Page;
  /** Errors of scripts and refusals of the content security policy. */
  readonly faults: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("console", (message) => {
      if (/Content Security Policy|React|Uncaught/.test(message.text()))
        this.faults.push(message.text());
    });
  }

  static async open(context: BrowserContext, server: DevServer, path = ""): Promise<Tab> {
    const tab = new Tab(await context.newPage());
    const link = await signInLink({ url: server.url, key: server.key });
    if (link === null) throw new Error("no link");
    await tab.page.goto(link);
    await tab.page.getByRole("link", { name: "New conversation" }).or(tab.menu).first().waitFor();
    if (path !== "") await tab.page.goto(`${server.url}/${path}`);
    return tab;
  }

  /** Signed in by the service key itself, as who runs the server would be: users never have the scope `operate`. */
  static async openAsOperator(
    context: BrowserContext,
    server: DevServer,
    path: string,
  ): Promise<Tab> {
    const tab = new Tab(await context.newPage());
    await tab.page.goto(`${server.url}/#token=${server.key}`);
    await tab.page.getByRole("link", { name: "New conversation" }).waitFor();
    await tab.page.goto(`${server.url}/${path}`);
    return tab;
  }

  get menu(): Locator {
    return this.page.getByRole("button", { name: "Conversations" });
  }
  get field(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }
  get answers(): Locator {
    return this.page.locator("article.answer");
  }
  async say(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press("Enter");
  }
  /** Resolves once the last answer shows what its run cost: everything has arrived. */
  async settled(): Promise<void> {
    await this.answers.last().getByTestId("run-cost").waitFor();
  }
}
