/** The page in Chromium: signing in, talking, files, reloads, tabs. */
import { describe, expect, it } from "vitest";
import type { Tab } from "../support/browser.ts";
import { expectSoundInCorners } from "../support/page-checks.ts";
import { usePage } from "../support/page-suite.ts";

const CSV = "city,people\nHamburg,3\nLisbon,5\nPorto,2\n";
const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index + 1}`).join(" ");

const suite = usePage();

const upload = (tab: Tab): Promise<void> =>
  tab.page
    .getByLabel("Files to upload", { exact: true })
    .setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(CSV) });

describe("signing in", () => {
  it("[W1] a link signs in, and its token leaves the address bar, the history and every request", async () => {
    const urls: string[] = [];
    suite.browser.context.on("request", (request) => urls.push(request.url()));
    const tab = await suite.open();
    await tab.say("say hello");
    await tab.settled();
    expect(tab.page.url()).toMatch(/\/#\/obeys\/thr_\w+$/);
    expect(urls.filter((url) => /token=/.test(url))).toEqual([]);
    await tab.page.goBack();
    await tab.page.goBack();
    expect(tab.page.url()).not.toContain("token");
    expect(await tab.page.evaluate("localStorage.length")).toBe(0);
    expect(tab.faults).toEqual([]);
  });

  it("[W1] a refused key leads back to the form with the reason and the way on", async () => {
    const page = await suite.browser.context.newPage();
    await page.goto(suite.server.url);
    await page.getByLabel("API key or user token").fill("hf_wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("alert").getByText("not valid, or has expired").waitFor();
    expect(await page.getByText("npm run link").isVisible()).toBe(true);
    await page.getByLabel("API key or user token").fill(suite.server.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Choose an agent" }).waitFor();
  });
});

describe("what stands beside the messages", () => {
  it("[W20] is read a few times for a message, however many events it has", async () => {
    const tab = await suite.open();
    const readings: string[] = [];
    tab.page.on("request", (request) => {
      if (request.url().endsWith("/branches")) readings.push(request.url());
    });
    await tab.say("slow 20");
    await tab.settled();
    expect(readings.length).toBeGreaterThan(0);
    expect(readings.length).toBeLessThanOrEqual(5);
  });
});

describe("a newcomer", () => {
  it("[W2] gets an answer with one click, sees code and result, what it cost, and that it is no LLM", async () => {
    const tab = await suite.open("");
    const { page } = tab;
    expect(await page.getByText("Not an LLM.").isVisible()).toBe(true);
    await page.getByRole("button", { name: /Total revenue by city/ }).click();
    await tab.settled();
    await page.getByRole("cell", { name: "6,417.6" }).waitFor();
    const call = page.locator("details.call", { hasText: "run_code" }).last();
    await call.locator("summary").click();
    await call.getByText("parseCsv").first().waitFor();
    await call.getByText('"Hamburg"').waitFor();
    expect(await page.getByTestId("run-cost").textContent()).toBe("$0");
    expect(await page.getByTestId("thread-cost").textContent()).toContain("1 run, $0");
    expect(await page.getByText("built-in rules, not an LLM").isVisible()).toBe(true);
    expect(tab.faults).toEqual([]);
  });
});

describe("chat", () => {
  it("[W3] shows an answer as Markdown; HTML in it stays text and runs nothing", async () => {
    const tab = await suite.open();
    await tab.say("table");
    await tab.page.getByRole("cell", { name: "Hamburg" }).waitFor();
    await tab.page.getByText("<img src=x").waitFor();
    expect(await tab.page.title()).toBe("Holdfast");
    expect(await tab.answers.locator("img").count()).toBe(0);
    const link = tab.page.getByRole("link", { name: "a link" });
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(tab.faults).toEqual([]);
  });

  it("[W4] a reload in mid-stream goes on, each word once", async () => {
    const tab = await suite.open();
    await tab.say("slow 80");
    await tab.page.getByText("w10").waitFor();
    await tab.page.reload();
    await tab.page.getByText("w30").waitFor();
    await tab.settled();
    expect((await tab.answers.locator(".prose").allTextContents()).join("").trim()).toBe(words(80));
    expect(await tab.answers.count()).toBe(1);
  });

  it("[W4] two tabs stay in step, also while text comes", async () => {
    const one = await suite.open();
    await one.say("say first");
    await one.settled();
    const two = await suite.open(new URL(one.page.url()).hash);
    await two.page.getByText("first", { exact: true }).waitFor();
    await one.say("slow 60");
    await two.page.getByText("w10").waitFor();
    await Promise.all([one.settled(), two.settled()]);
    await two.say("say from two");
    await one.page.getByText("from two", { exact: true }).waitFor();
    const shown = (tab: Tab) => tab.page.locator(".said-text, .prose").allTextContents();
    await expect.poll(async () => (await shown(one)).join("|")).toBe((await shown(two)).join("|"));
    expect((await shown(one)).map((text) => text.trim())).toEqual([
      "say first",
      "first",
      "slow 60",
      words(60),
      "say from two",
      "from two",
    ]);
  });

  it("[W5] stops a run; what came stays, and the page says so", async () => {
    const tab = await suite.open();
    await tab.say("slow 500");
    await tab.page.getByText("w10").waitFor();
    await tab.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.getByText("Stopped.").waitFor();
    expect(await tab.answers.last().textContent()).toContain("w10");
    expect(await tab.page.getByRole("alert").count()).toBe(0);
    await tab.say("say next");
    await tab.page.getByText("next", { exact: true }).waitFor();
  });

  it("[W5] a failed run says why and can be answered again", async () => {
    const tab = await suite.open();
    await tab.say("fail");
    await tab.page.getByText("The run failed.").waitFor();
    await tab.page.getByText("The model says no.").waitFor();
  });

  it("[W5] a lost connection is said, and the page comes back by itself", async () => {
    const tab = await suite.open();
    await tab.say("say before");
    await tab.settled();
    await suite.server.kill();
    await tab.page.getByText("The connection is lost").waitFor();
    await suite.server.start();
    await tab.page
      .getByText("The connection is lost")
      .waitFor({ state: "detached", timeout: 30_000 });
    await tab.say("say after");
    await tab.page.getByText("after", { exact: true }).waitFor();
    expect(await tab.page.getByText("before", { exact: true }).count()).toBe(1);
  });
});

describe("branches", () => {
  it("[W6] edits the last message by Arrow up, and switches back", async () => {
    const tab = await suite.open();
    const { page } = tab;
    await tab.say("say one");
    await tab.settled();
    await tab.field.press("ArrowUp");
    await page.getByRole("textbox", { name: "Edited message" }).fill("say two");
    await page.keyboard.press("Enter");
    await page.getByText("two", { exact: true }).waitFor();
    await tab.settled();
    expect(await page.getByText("one", { exact: true }).count()).toBe(0);
    await page.getByLabel("Branch").selectOption({ index: 0 });
    await page.getByText("one", { exact: true }).waitFor();
    expect(await page.getByText("two", { exact: true }).count()).toBe(0);
  });

  it("[W6][W10] answers again, and clears; both leave the old line as a branch", async () => {
    const tab = await suite.open();
    const { page } = tab;
    await tab.say("say one");
    await tab.settled();
    await page.getByRole("button", { name: "Answer again" }).click();
    await page.getByTestId("thread-cost").getByText("2 runs").waitFor();
    expect(await tab.answers.count()).toBe(1);
    await page.getByRole("button", { name: "Clear the conversation" }).click();
    await page.getByText("Nothing is in the memory").waitFor();
    await expect.poll(() => page.getByLabel("Branch").locator("option").count()).toBe(3);
    await expectSoundInCorners(tab);
  });
});

describe("files", () => {
  it("[W7] uploads with the first word unsaid, answers over it, downloads the same bytes, deletes", async () => {
    const tab = await suite.open("#/analyst");
    const { page } = tab;
    await upload(tab);
    await page.getByText("The files are here").waitFor();
    await tab.say("How many rows does people.csv have?");
    await tab.settled();
    expect(await tab.answers.last().textContent()).toMatch(/\b3\b/);
    await page.getByRole("button", { name: /^Files/ }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download people.csv" }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(Buffer.from(chunk));
    expect(Buffer.concat(chunks).toString()).toBe(CSV);
    await page.getByRole("button", { name: "Delete people.csv" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No files yet").waitFor();
  });

  it("[W7] takes a file that is dropped anywhere", async () => {
    const tab = await suite.open("#/analyst");
    const transfer = await tab.page.evaluateHandle(
      `(() => { const t = new DataTransfer(); t.items.add(new File(["a,b\\n1,2\\n"], "dropped.csv")); return t; })()`,
    );
    for (const type of ["dragenter", "dragover", "drop"]) {
      await tab.page.dispatchEvent(".start", type, { dataTransfer: transfer });
    }
    await tab.page.getByText("The files are here").waitFor();
    await tab.page.getByRole("heading", { name: "dropped.csv" }).waitFor();
  });
});
