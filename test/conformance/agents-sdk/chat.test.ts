/** `useAgent` and `useAgentChat` of the published packages, against a real server. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { AGENT, ChatTab, RawSocket, type Place } from "../../support/sdk-client.ts";

let server: BundledServer;
const tabs: ChatTab[] = [];
let threads = 0;

beforeAll(async () => {
  server = await startBundled();
});
afterEach(() => {
  for (const tab of tabs.splice(0)) tab.close();
});
afterAll(() => server.dispose());

function newPlace(): Place {
  threads += 1;
  return { url: server.url, key: server.key, thread: `chat-${threads}` };
}
async function openTab(place: Place, options = {}): Promise<ChatTab> {
  const tab = new ChatTab(place, options);
  tabs.push(tab);
  await expect.poll(() => tab.isReady, { timeout: 15_000, message: "identified" }).toBe(true);
  return tab;
}
const shows = (tab: ChatTab, messages: readonly unknown[]): Promise<void> =>
  expect.poll(() => tab.shown, { timeout: 10_000 }).toEqual(messages);
const settles = (tab: ChatTab): Promise<void> =>
  expect.poll(() => tab.chat.status, { timeout: 10_000 }).toBe("ready");
const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index + 1} `).join("");

describe("useAgentChat, unchanged", () => {
  it("[P26] chats, and shows the same messages after a reload", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    await tab.chat.sendMessage({ text: "say hello there" });
    await shows(tab, ["user: say hello there", "assistant: hello there"]);
    await settles(tab);
    const ids = tab.chat.messages.map(({ id }) => id);
    tab.close();
    const again = await openTab(place);
    await shows(again, ["user: say hello there", "assistant: hello there"]);
    expect(again.chat.messages.map(({ id }) => id)).toEqual(ids);
  });

  it("[P26] shows a tool's call and result, live and after a reload", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    await tab.chat.sendMessage({ text: 'call add {"a":1,"b":2}' });
    const expected = [
      'user: call add {"a":1,"b":2}',
      'assistant: [add output-available]got {"sum":3}',
    ];
    await shows(tab, expected);
    const again = await openTab(place);
    await shows(again, expected);
  });

  it("[P27] resumes in mid-stream after a reload, each word once", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    void tab.chat.sendMessage({ text: "slow 40" });
    await expect.poll(() => tab.shown.at(-1), { timeout: 10_000 }).toContain("w5 ");
    tab.close();
    const again = await openTab(place);
    await expect.poll(() => again.shown.at(-1), { timeout: 10_000 }).toContain("w20 ");
    await shows(again, ["user: slow 40", `assistant: ${words(40)}`]);
    await settles(again);
  });

  it("[P27] shows two tabs the same run, live, once", async () => {
    const place = newPlace();
    const [one, two] = [await openTab(place), await openTab(place)];
    void one.chat.sendMessage({ text: "slow 20" });
    await expect.poll(() => two.shown.at(-1), { timeout: 10_000 }).toContain("w3 ");
    await shows(two, ["user: slow 20", `assistant: ${words(20)}`]);
    await shows(one, ["user: slow 20", `assistant: ${words(20)}`]);
    await settles(one);
    await settles(two);
  });

  it("[P27] offers what is queued after what runs: a tab that comes between ends with both, and is told of nothing pending", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    void tab.chat.sendMessage({ text: "slow 60" });
    await expect.poll(() => tab.shown.at(-1), { timeout: 10_000 }).toContain("w2 ");
    const queued = await fetch(`${place.url}/v1/agents/${AGENT}/threads/${place.thread}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${place.key}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "slow 10" }),
    });
    expect(await queued.json()).toMatchObject({ disposition: "queued" });
    tab.close();
    const [again, raw] = [await openTab(place), await RawSocket.open(place)];
    raw.send({ type: "cf_agent_stream_resume_request" });
    // A message stands where it was recorded, which is before the answer to the one it waits for.
    const said = ["user: slow 60", "user: slow 10"];
    await shows(again, [...said, `assistant: ${words(60)}`, `assistant: ${words(10)}`]);
    await settles(again);
    // Told once of each run, the running one first; there is no state in between.
    await expect
      .poll(() => raw.of("cf_agent_stream_resuming").length, { timeout: 10_000 })
      .toBeGreaterThan(0);
    expect(raw.of("cf_agent_stream_pending")).toEqual([]);
    expect(raw.of("cf_agent_stream_resume_none")).toEqual([]);
    raw.close();
  });

  it("[P28] stops a run, in both tabs", async () => {
    const place = newPlace();
    const [one, two] = [await openTab(place), await openTab(place)];
    void one.chat.sendMessage({ text: "slow 200" });
    await expect.poll(() => one.shown.at(-1), { timeout: 10_000 }).toContain("w3 ");
    await one.chat.stop();
    await settles(one);
    await expect.poll(() => two.chat.isStreaming, { timeout: 5_000 }).toBe(false);
    const shown = one.shown.at(-1);
    await one.chat.sendMessage({ text: "say next" });
    await expect.poll(() => one.shown.at(-1), { timeout: 10_000 }).toBe("assistant: next");
    expect(shown).not.toContain("w200");
  });
});
