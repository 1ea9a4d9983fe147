/** The page in Chromium: what can be proved of a conversation, what it cost, and who may stop it. */
import { describe, expect, it } from "vitest";
import { Tab } from "../support/browser.ts";
import { usePage } from "../support/page-suite.ts";
import { tamperPayload } from "../support/tamper.ts";

const suite = usePage();

const panel = ({ page }: Tab, name: string) => page.getByRole("complementary", { name });
const pathOf = ({ page }: Tab): string => new URL(page.url()).hash;
const threadOf = (tab: Tab): string => pathOf(tab).split("/").at(-1) ?? "";
const openRecord = ({ page }: Tab): Promise<void> =>
  page.getByRole("button", { name: "Record" }).click();

/** As the key of the deployment, which may do everything here. */
async function call(path: string): Promise<void> {
  const response = await fetch(`${suite.server.url}/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${suite.server.key}` },
  });
  if (!response.ok) throw new Error(await response.text());
}

describe("cost", () => {
  it("[W12] is shown for the run and the conversation; a price nobody knows is said, and is no zero", async () => {
    const priced = await suite.open();
    await priced.say("say one");
    await priced.settled();
    expect(await priced.page.getByTestId("run-cost").textContent()).toBe("$0.000007");
    const unknown = await suite.open("#/unpriced");
    await unknown.say("say two");
    await unknown.settled();
    expect(await unknown.page.getByTestId("run-cost").textContent()).toBe("price unknown");
    const header = await unknown.page.getByTestId("thread-cost").textContent();
    expect(header).toContain("1 run, price unknown");
    expect(header).not.toContain("$");
    await openRecord(unknown);
    await panel(unknown, "Record").getByText("PUT /v1/prices").waitFor();
  });

  it("[W12] spend of all conversations is summed by day, agent, model and tool, and leaves as CSV", async () => {
    const tab = await suite.open();
    await tab.say("plan");
    await tab.settled();
    const unknown = await suite.open("#/unpriced");
    await unknown.say("say two");
    await unknown.settled();
    const { page } = tab;
    const table = page.getByRole("table");
    const row = (name: string) => table.getByRole("row", { name: new RegExp(`^${name}`) });
    // Sums follow the logs: read again until both are there.
    await expect
      .poll(
        async () => {
          await page.goto(`${suite.server.url}/#/obeys`);
          await page.getByRole("link", { name: "Spend", exact: true }).click();
          await page.getByText("Agent", { exact: true }).click();
          await table.getByText("Total").waitFor();
          return (await row("unpriced").count()) * (await row("obeys").count());
        },
        { timeout: 30_000 },
      )
      .toBe(1);
    expect(await row("unpriced").getByRole("cell").first().textContent()).toBe("price unknown");
    expect(await row("obeys").getByRole("cell").first().textContent()).toMatch(/^\$0\.0000\d\d$/);
    await page.getByText("Model", { exact: true }).click();
    await row("test/unpriced").waitFor();
    await page.getByText("Tool", { exact: true }).click();
    await row("update_plan").waitFor();
    await page.getByText("Day", { exact: true }).click();
    await row(new Date().toISOString().slice(0, 8)).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download as CSV" }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(Buffer.from(chunk));
    expect(Buffer.concat(chunks).toString()).toMatch(/^day,costMicros,.*\r?\n\d{4}-\d\d-\d\d,/);
    expect(tab.faults).toEqual([]);
  });
});

describe("explanation", () => {
  it("[W13] shows prompt, choice, approval, result, cost and definition, with the events that say so", async () => {
    const tab = await suite.open();
    await tab.say("mails ada");
    await tab.page.getByRole("button", { name: "Approve" }).click();
    await tab.answers.getByText("Results:").waitFor();
    await tab.settled();
    await tab.page.getByRole("button", { name: "Explain" }).click();
    const shown = panel(tab, "Explanation");
    await shown.getByText("All 2 prompts rebuilt from the log, and identical").waitFor();
    await shown.getByText("Definition", { exact: true }).waitFor();
    expect(await shown.getByText("$0.000014", { exact: true }).count()).toBe(1);
    await shown.getByText(/^Approved/).waitFor();
    expect(await shown.locator(".decided").textContent()).toMatch(/^Approved by you, /);
    await shown.getByText("ada@example.com").first().waitFor();
    await shown.getByText("Step 2").waitFor();
    const first = shown.getByText(/^The prompt: 1 message, 4 tools/);
    await first.click();
    await shown.getByText("Do what the message says.", { exact: true }).first().waitFor();
    await shown.locator("details.fold[open]").getByText("mails ada", { exact: true }).waitFor();
    expect(await shown.locator(".evidence").count()).toBeGreaterThan(8);
    await tab.page.keyboard.press("Escape");
    await shown.waitFor({ state: "detached" });
    await expect
      .poll(() => tab.page.evaluate("document.activeElement.textContent"))
      .toBe("Explain");
    expect(tab.faults).toEqual([]);
  });

  it("[W13][W14] what was erased is said, and the rest still verifies", async () => {
    const tab = await suite.open();
    await tab.say("say a secret");
    await tab.settled();
    await call(`/agents/obeys/threads/${threadOf(tab)}/erase`);
    await tab.page.getByRole("button", { name: "Explain" }).click();
    const shown = panel(tab, "Explanation");
    await shown.getByText(/The content of \d+ events was erased/).waitFor();
    expect(await shown.getByText("a secret").count()).toBe(0);
    await openRecord(tab);
    await tab.page.getByRole("button", { name: "Verify the record" }).click();
    await panel(tab, "Record").getByText("The record holds.").waitFor();
    await panel(tab, "Record")
      .getByText(/The content of \d+ events was erased; the chain holds without it/)
      .waitFor();
  });
});

describe("verification", () => {
  it("[W14] says what was checked, and after a change names the first bad event and why", async () => {
    const tab = await suite.open();
    await tab.say("say true");
    await tab.settled();
    await openRecord(tab);
    const record = panel(tab, "Record");
    const verify = async (): Promise<void> =>
      tab.page.getByRole("button", { name: "Verify the record" }).click();
    // The signed head of the run's end may come a moment after it.
    await expect
      .poll(
        async () => {
          await verify();
          await record.getByText("The record holds.").waitFor();
          return record.getByText(/1 signed head outside of the log fits/).count();
        },
        { timeout: 30_000 },
      )
      .toBe(1);
    await record.getByText(/Events 1 to \d+: \d+ events, each built on the hash/).waitFor();
    await record.getByText("Nothing was erased.").waitFor();
    await suite.server.kill();
    tamperPayload(suite.server.stateDirectory, threadOf(tab), 2);
    await suite.server.start();
    await verify();
    await record.getByText("The record does not hold. The first bad event is 2.").waitFor();
    await record.getByText("The event's content is not what was recorded.").waitFor();
  });
});

describe("bounds", () => {
  it("[W15] a run that the loop guard stopped says the pattern, the tool and how often", async () => {
    const tab = await suite.open();
    await tab.say("again");
    await tab.page.getByText("The loop guard stopped it.").waitFor();
    await tab.page
      .getByText("It made the same call of ls 5 times, with the same result each time.")
      .waitFor();
  });

  it("[W15] a call that has no price under a limit in money says what to do", async () => {
    const tab = await suite.open("#/limited");
    await tab.say("say anything");
    await tab.page.getByText("The run failed.").waitFor();
    const said = await tab.page.locator(".notice-error").textContent();
    expect(said).toContain("price of the route test/unpriced is not known");
    expect(said).toContain("PUT /v1/prices");
    expect(said).toContain("Nothing was spent.");
  });
});

describe("halting", () => {
  it("[W16] an operator halts and resumes; its user is told, and is offered neither", async () => {
    const user = await suite.open();
    await user.say("mails ada");
    await user.page.getByRole("button", { name: "Approve" }).waitFor();
    await openRecord(user);
    await panel(user, "Record").getByText("1 run").waitFor();
    expect(await user.page.getByRole("button", { name: /Halt|Resume/ }).count()).toBe(0);
    const operator = await Tab.openAsOperator(suite.browser.context, suite.server, pathOf(user));
    await openRecord(operator);
    await operator.page.getByLabel(/^Why/).fill("wrong customer");
    await operator.page.getByRole("button", { name: "Halt this conversation" }).click();
    await operator.page.getByText(/^Halted by key_\w+, .*“wrong customer”/).waitFor();
    await user.page.reload();
    await user.page.getByText(/“wrong customer”.*Ask an operator to resume it/).waitFor();
    expect(await user.field.isDisabled()).toBe(true);
    expect(await user.field.getAttribute("placeholder")).toContain("Halted");
    expect(await user.page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    await operator.page.getByRole("button", { name: "Resume", exact: true }).click();
    await operator.page.getByText(/^Halted by/).waitFor({ state: "detached" });
    await user.page.reload();
    await user.page.getByRole("button", { name: "Approve" }).click();
    await user.answers.getByText("Results:").waitFor();
    expect(user.faults).toEqual([]);
  });
});

describe("what is to be done", () => {
  it("[W17] what waits in all conversations is counted and listed, and leads to where it is decided", async () => {
    const tab = await suite.open();
    await tab.say("mails ada");
    await tab.page.getByRole("button", { name: "Approve" }).waitFor();
    const other = await suite.open("#/obeys");
    const inbox = other.page.getByRole("link", { name: /^Waiting for you \d/ });
    await inbox.waitFor({ timeout: 30_000 });
    await inbox.click();
    await other.page
      .locator(`.inbox-entry[href="${pathOf(tab)}"]`)
      .getByText("obeys wants to run")
      .click();
    await other.page.getByRole("button", { name: "Deny" }).click();
    await other.answers.getByText("Results:").waitFor();
    await inbox.waitFor({ state: "detached", timeout: 30_000 });
  });

  it("[W17] the plan is shown with how far it is", async () => {
    const tab = await suite.open();
    await tab.say("plan");
    await tab.settled();
    const plan = tab.page.locator("details.plan");
    await plan.getByText("1 of 3 done").waitFor();
    await plan.locator("summary").click();
    await plan.getByText("Write the summary").waitFor();
  });
});
