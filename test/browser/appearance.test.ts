/** The page in Chromium: wide and narrow, light and dark, by keyboard, and for those who do not see it. */
import { describe, expect, it } from "vitest";
import { NARROW, type Tab } from "../support/browser.ts";
import { expectSound, VIEWS, violations } from "../support/page-checks.ts";
import { usePage } from "../support/page-suite.ts";

const suite = usePage();

describe.each(VIEWS)("$name", ({ viewport, colorScheme }) => {
  async function openIn(path?: string): Promise<Tab> {
    const tab = await suite.open(path);
    await tab.page.setViewportSize(viewport);
    await tab.page.emulateMedia({ colorScheme });
    return tab;
  }

  it("[W10] the start screen fits and is accessible", async () => {
    const tab = await openIn("#/analyst");
    await tab.page.getByText("Try one of these").waitFor();
    await expectSound(tab);
  });

  it("[W10] a conversation with a table, an approval and its files fits and is accessible", async () => {
    const tab = await openIn();
    await tab.say("table");
    await tab.settled();
    await tab.say("mails ada");
    await tab.page.getByRole("button", { name: "Approve" }).waitFor();
    await tab.page.getByText("1 call needs your approval.").waitFor();
    await expectSound(tab);
    await tab.page.getByRole("button", { name: "Approve" }).click();
    await tab.answers.getByText("Results:").waitFor();
    await tab.page.getByRole("button", { name: /^Files/ }).click();
    await tab.page.locator(".file-path", { hasText: "outbox/" }).waitFor();
    await expectSound(tab);
  });
});

describe.each(VIEWS)("$name, the record", ({ viewport, colorScheme }) => {
  it("[W10] explanation, verification, plan, spend and inbox fit and are accessible", async () => {
    const tab = await suite.open();
    const { page } = tab;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await tab.say("plan");
    await tab.settled();
    await page.locator("details.plan summary").click();
    await page.getByRole("button", { name: "Explain" }).click();
    await page
      .getByText(/^The prompt: /)
      .first()
      .click();
    await page.getByText("Do what the message says.", { exact: true }).first().waitFor();
    await expectSound(tab);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Record" }).click();
    await page.getByRole("button", { name: "Verify the record" }).click();
    await page.getByText("The record holds.").waitFor();
    await expectSound(tab);
    await page.goto(`${suite.server.url}/#spend`);
    await page.getByRole("table").or(page.getByText("Nothing was spent")).waitFor();
    await expectSound(tab);
    await page.goto(`${suite.server.url}/#approvals`);
    await page.getByRole("heading", { name: "Waiting for you" }).waitFor();
    await expectSound(tab);
  });
});

describe("narrow", () => {
  it("[W10] the list of conversations opens over the page and closes by Escape", async () => {
    const tab = await suite.open();
    await tab.page.setViewportSize(NARROW);
    const link = tab.page.getByRole("link", { name: "New conversation" });
    expect(await link.isVisible()).toBe(false);
    await tab.menu.click();
    await link.waitFor();
    expect(await violations(tab)).toEqual([]);
    await tab.page.keyboard.press("Escape");
    await link.waitFor({ state: "hidden" });
  });
});

describe("colours", () => {
  it("[W10] follow the system until chosen, and the choice outlives a reload", async () => {
    const tab = await suite.open();
    const background = (): Promise<unknown> =>
      tab.page.evaluate("getComputedStyle(document.body).backgroundColor");
    await tab.page.emulateMedia({ colorScheme: "light" });
    const light = await background();
    await tab.page.emulateMedia({ colorScheme: "dark" });
    expect(await background()).not.toBe(light);
    await tab.page.getByLabel("Colours").selectOption("light");
    expect(await background()).toBe(light);
    await tab.page.reload();
    await tab.page.getByLabel("Colours").waitFor();
    expect(await background()).toBe(light);
    await tab.page.getByLabel("Colours").selectOption("system");
  });
});

describe("keyboard", () => {
  it("[W11] chooses, asks, breaks a line, stops and leaves, without a pointer", async () => {
    const tab = await suite.open("#/analyst");
    const { page } = tab;
    await page.keyboard.press("Tab");
    await page.getByText("Skip to the message field").waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("composer");
    await page.goto(`${suite.server.url}/#/obeys`);
    await tab.field.focus();
    await page.keyboard.type("slow 500");
    await page.keyboard.press("Shift+Enter");
    expect(await tab.field.inputValue()).toBe("slow 500\n");
    await page.keyboard.press("Enter");
    await page.getByText("w5").waitFor();
    await tab.field.focus();
    await page.keyboard.press("Escape");
    await page.getByText("Stopped.").waitFor();
  });

  it("[W11] explains, verifies and sums up without a pointer", async () => {
    const tab = await suite.open();
    const { page } = tab;
    await tab.say("say one");
    await tab.settled();
    await page.getByRole("button", { name: "Explain" }).focus();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Explanation" });
    await panel.getByText("Step 1").waitFor();
    // Close, the steps, what the run was pinned to.
    for (const key of ["Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await panel.getByText('"instructions"').waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Record" }).focus();
    await page.keyboard.press("Enter");
    // Close, the record, its button.
    for (const key of ["Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await page.getByText("The record holds.").waitFor();
    await page.getByRole("link", { name: "Spend", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Day").focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.getByLabel("Agent").isChecked()).toBe(true);
  });
});
