/** The page in Chromium: what may be spent, what an agent does by itself, and a conversation that is erased. */
import { afterEach, describe, expect, it } from "vitest";
import { Tab } from "../support/browser.ts";
import { expectSoundInCorners } from "../support/page-checks.ts";
import { usePage } from "../support/page-suite.ts";

const suite = usePage();

/** As the key of the deployment, which may do everything here. */
async function call(method: string, path: string, body?: object): Promise<void> {
  const response = await fetch(`${suite.server.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${suite.server.key}`,
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(await response.text());
}

const putBudget = (id: string, limit: number, more: object = {}): Promise<void> =>
  call("PUT", `/budgets/${id}`, {
    scope: { kind: "agent", agent: "obeys" },
    period: "day",
    unit: "costMicros",
    limit,
    ...more,
  });

const operator = (path = "#/obeys"): Promise<Tab> =>
  Tab.openAsOperator(suite.browser.context, suite.server, path);
const budgets = ({ page }: Tab) => page.getByRole("link", { name: "Budgets" });

afterEach(async () => {
  const list = await fetch(`${suite.server.url}/v1/budgets`, {
    headers: { authorization: `Bearer ${suite.server.key}` },
  });
  const { items } = await list.json<{ items: readonly { budgetId: string }[] }>();
  for (const { budgetId } of items) await call("DELETE", `/budgets/${budgetId}`);
});

describe("budgets", () => {
  it("[W18] are listed with what is spent and left; none says how to set one; a failure can be tried again", async () => {
    const tab = await operator();
    const { page } = tab;
    await budgets(tab).focus();
    await page.keyboard.press("Enter");
    await page.getByText("No budget is set").waitFor();
    await putBudget("team-day", 2_500_000);
    await putBudget("calls", 40, { unit: "steps", period: "total", atLimit: "ask" });
    await page.route("**/v1/budgets", (route) => route.abort(), { times: 2 });
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByRole("alert").waitFor();
    await page.unroute("**/v1/budgets");
    await page.getByRole("button", { name: "Try again" }).click();
    const card = page.getByRole("region", { name: /^team-day/ });
    await card.getByText("$2.50 a day (UTC), agent obeys").waitFor();
    await page
      .getByRole("region", { name: /^calls/ })
      .getByText("40 model calls")
      .first()
      .waitFor();
    expect(await card.getByRole("img").getAttribute("aria-label")).toBe("0 percent spent");
    await expectSoundInCorners(tab);
  });

  it("[W18] a run at its limit says so; who may operate grants more, by keyboard, and it goes on", async () => {
    await putBudget("tight", 100, { atLimit: "ask" });
    const user = await suite.open();
    await user.say("say granted");
    await user.page.getByText(/^The budget tight has no room.*Ask an operator/).waitFor();
    expect(await user.page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await budgets(user).count()).toBe(0);
    const tab = await operator(new URL(user.page.url()).hash);
    const { page } = tab;
    const card = page.getByRole("region", { name: /May it spend more of the budget tight/ });
    await card.getByText("a yes grants").waitFor();
    await expectSoundInCorners(tab);
    await page.getByRole("link", { name: /Waiting for you/ }).waitFor();
    await card.getByRole("button", { name: "Approve" }).focus();
    await page.keyboard.press("Enter");
    await user.answers.getByText("granted").waitFor();
    await user.settled();
    await tab.answers.getByText("granted").waitFor();
    await card.waitFor({ state: "detached" });
    await budgets(tab).click();
    const shown = page.getByRole("region", { name: /^tight/ });
    await shown.getByText("Granted on top").waitFor();
    await expectSoundInCorners(tab);
  });
});

describe("schedules", () => {
  it("[W21] are listed with next time, zone and last run; held, fired and removed by keyboard; none says how to set one", async () => {
    const none = await suite.open("#/obeys/quiet");
    await none.page.getByRole("button", { name: "Schedules" }).click();
    await none.page.getByText("Nothing is scheduled here.").waitFor();

    await call("POST", "/agents/obeys/threads", { id: "main" });
    const rule = { type: "every", seconds: 7_200 };
    const text = "say by itself";
    await call("PUT", "/agents/obeys/threads/main/schedules/look", { rule, text });
    const tab = await operator("#/obeys/main");
    const { page } = tab;
    const entry = (name: string) => page.getByRole("region", { name: new RegExp(`^${name}`) });
    const press = async (name: string): Promise<void> => {
      await page.getByRole("button", { name, exact: true }).focus();
      await page.keyboard.press("Enter");
    };
    await press("Schedules");
    const morning = entry("morning");
    await morning.getByText("At 30 7 * * 1-5 in Asia/Tokyo").waitFor();
    await morning.getByText(/7:30 AM \(Asia\/Tokyo\)/).waitFor();
    await morning.getByText("from the agent’s file").waitFor();
    expect(await page.getByRole("button", { name: "Remove morning" }).count()).toBe(0);
    await entry("look").getByText("Every 2 hours").waitFor();
    await entry("look").getByText("None yet").waitFor();
    await expectSoundInCorners(tab);

    await press("Run now: look");
    await tab.answers.getByText("by itself", { exact: true }).waitFor();
    await entry("look")
      .getByText(/^completed, begun/)
      .waitFor();
    await press("Pause morning");
    await morning.getByText("Paused", { exact: true }).waitFor();
    await press("Resume morning");
    await morning.getByText(/7:30 AM/).waitFor();
    await press("Remove look");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Keep");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await entry("look").waitFor({ state: "detached" });
    expect(tab.faults).toEqual([]);
  });
});

describe("erasure", () => {
  it("[W19] is asked twice, takes what was said from the page, and shows its receipt", async () => {
    const tab = await operator();
    const { page } = tab;
    await tab.say("say canary-in-the-page");
    await tab.settled();
    await page.getByRole("button", { name: "Record" }).click();
    const panel = page.getByRole("complementary", { name: "Record" });
    const begin = panel.getByRole("button", { name: /^Erase this conversation/ });
    await begin.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Keep it");
    await expectSoundInCorners(tab);
    await page.keyboard.press("Escape");
    await expect
      .poll(() => page.evaluate("document.activeElement.textContent"))
      .toContain("Erase this conversation");
    await tab.answers.getByText("canary-in-the-page").waitFor();
    await begin.click();
    await panel.getByRole("button", { name: "Erase for good" }).click();
    await panel.getByText(/^Erased: \d+ items in \d+ stores/).waitFor();
    await page.getByText("canary-in-the-page").first().waitFor({ state: "detached" });
    await page.getByText("Erased", { exact: true }).waitFor();
    await expectSoundInCorners(tab);
    await page.reload();
    await page.getByRole("button", { name: "Record" }).waitFor();
    expect(await page.getByText("canary-in-the-page").count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });
});
