/** The page in Chromium: calls and questions that wait for a person. */
import { describe, expect, it } from "vitest";
import type { Tab } from "../support/browser.ts";
import { usePage } from "../support/page-suite.ts";

const suite = usePage();

const card = (tab: Tab, to: string) => tab.page.locator(".ask", { hasText: `${to}@example.com` });
const line = (tab: Tab, to: string) =>
  tab.page.locator("details.call", { hasText: `${to}@example.com` });

/** What was really sent: the files of the outbox, after everything has settled. */
async function expectMails(tab: Tab, count: number): Promise<void> {
  await tab.page.reload();
  await tab.settled();
  await tab.page.getByRole("button", { name: /^Files/ }).click();
  await tab.page.getByRole("complementary", { name: "Files" }).waitFor();
  expect(await tab.page.locator(".file-path", { hasText: "outbox/" }).count()).toBe(count);
}

describe("approvals", () => {
  it("[W8] one of three parallel calls is denied and two approved: two mails go out, each once", async () => {
    const tab = await suite.open();
    await tab.say("mails ada bob cleo");
    await tab.page.getByText("3 calls need your approval.").waitFor();
    await card(tab, "bob").getByText("Dear bob,").waitFor();
    await card(tab, "ada").getByRole("button", { name: "Approve" }).click();
    await line(tab, "ada").waitFor();
    await card(tab, "bob")
      .getByLabel(/Comment/)
      .fill("Bob is away");
    await card(tab, "bob").getByRole("button", { name: "Deny" }).click();
    await line(tab, "bob").locator(".call-state", { hasText: "denied" }).waitFor();
    await card(tab, "cleo").getByRole("button", { name: "Approve" }).click();
    await tab.answers.getByText("Results:").waitFor();
    expect(await tab.answers.locator(".prose").textContent()).toMatch(/ada@.*Bob is away.*cleo@/s);
    await line(tab, "bob").locator("summary").click();
    await line(tab, "bob").getByText("“Bob is away”").waitFor();
    await tab.say("slow 500");
    await tab.page.getByText("w10").waitFor();
    await tab.field.press("Escape");
    await tab.page.getByText("Stopped.").waitFor();
    await expectMails(tab, 2);
    expect(tab.faults).toEqual([]);
  });

  it("[W8] survive a reload, and a decision in one tab shows in the other", async () => {
    const one = await suite.open();
    await one.say("mails ada bob");
    await card(one, "ada").waitFor();
    await one.page.reload();
    await card(one, "ada").waitFor();
    const two = await suite.open(new URL(one.page.url()).hash);
    await card(two, "ada").getByRole("button", { name: "Approve" }).click();
    await line(one, "ada").locator(".call-state", { hasText: "done" }).waitFor();
    await card(one, "bob").getByRole("button", { name: "Deny" }).click();
    await line(two, "bob").locator(".call-state", { hasText: "denied" }).waitFor();
    await one.answers.getByText("Results:").waitFor();
    await two.answers.getByText("Results:").waitFor();
    await expectMails(one, 1);
  });

  it("[W8] are decided by keyboard alone; the focus goes on to the next, then to the message field", async () => {
    const tab = await suite.open();
    await tab.say("mails ada bob");
    await card(tab, "bob").waitFor();
    await tab.page.getByRole("button", { name: "Show" }).focus();
    await tab.page.keyboard.press("Enter");
    // The card, then its comment, then Approve.
    for (const key of ["Tab", "Tab", "Enter"]) await tab.page.keyboard.press(key);
    await line(tab, "ada").waitFor();
    await expect
      .poll(() => tab.page.evaluate("document.activeElement.id"))
      .toBe(await card(tab, "bob").getAttribute("id"));
    for (const key of ["Tab", "Tab", "Tab", "Enter"]) await tab.page.keyboard.press(key);
    await line(tab, "bob").locator(".call-state", { hasText: "denied" }).waitFor();
    await tab.answers.getByText("Results:").waitFor();
    await expect.poll(() => tab.page.evaluate("document.activeElement.id")).toBe("composer");
    await expectMails(tab, 1);
  });

  it("[W8] stopping the run ends the wait and sends nothing", async () => {
    const tab = await suite.open();
    await tab.say("mails ada");
    await card(tab, "ada").waitFor();
    await tab.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.getByText("Stopped.").waitFor();
    await line(tab, "ada").locator(".call-state", { hasText: "not done" }).waitFor();
    await expectMails(tab, 0);
  });
});

describe("questions", () => {
  it("[W9] a schema becomes a form; what does not fit is said before it is sent", async () => {
    const tab = await suite.open();
    await tab.say("ask");
    await tab.page.getByText("1 question waits for your answer.").waitFor();
    const form = tab.page.locator("form.ask");
    await form.getByRole("button", { name: "Answer", exact: true }).click();
    await form.getByText("“Day” is needed.").waitFor();
    await form.getByLabel("Friday").check();
    await form.getByLabel("People").fill("four");
    await form.getByRole("button", { name: "Answer", exact: true }).click();
    await form.getByText("must be a whole number").waitFor();
    await form.getByLabel("People").fill("4");
    await form.getByLabel("People").press("Enter");
    await tab.answers.getByText('{"day":"Friday","people":4}').waitFor();
  });
});
