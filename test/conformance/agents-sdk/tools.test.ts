/** Approvals, client-side tools, clear, regenerate and edit through `useAgentChat`, against a real server. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { AGENT, ChatTab, type Place } from "../../support/sdk-client.ts";

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
  return { url: server.url, key: server.key, thread: `tools-${threads}` };
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

interface ApprovalPart {
  readonly type: string;
  readonly approval?: { readonly id: string };
}
const approvalIds = (tab: ChatTab): readonly string[] =>
  (tab.chat.messages.at(-1)?.parts ?? []).flatMap((part) => {
    const { approval } = part as ApprovalPart;
    return approval === undefined ? [] : [approval.id];
  });

/** Newest first. */
async function statuses(place: Place): Promise<readonly string[]> {
  const response = await fetch(`${place.url}/v1/agents/${AGENT}/threads/${place.thread}/runs`, {
    headers: { authorization: `Bearer ${place.key}` },
  });
  const { items }: { items: readonly { runId: string; status: string; startedAt: number }[] } =
    await response.json();
  return items.map(({ status }) => status).toReversed();
}

const REFUND = 'call refund {"order":7}';

describe("useAgentChat, unchanged", () => {
  it("[P25] runs a tool once it is approved", async () => {
    const tab = await openTab(newPlace());
    void tab.chat.sendMessage({ text: REFUND });
    await shows(tab, [`user: ${REFUND}`, "assistant: [refund approval-requested]"]);
    await settles(tab);
    tab.chat.addToolApprovalResponse({ id: approvalIds(tab)[0] ?? "", approved: true });
    await shows(tab, [`user: ${REFUND}`, "assistant: [refund output-available]got refunded 7"]);
    await settles(tab);
  });

  it("[P25] takes an approval after a reload, and tells another tab", async () => {
    const place = newPlace();
    const first = await openTab(place);
    void first.chat.sendMessage({ text: REFUND });
    await shows(first, [`user: ${REFUND}`, "assistant: [refund approval-requested]"]);
    first.close();
    const [one, two] = [await openTab(place), await openTab(place)];
    await shows(one, [`user: ${REFUND}`, "assistant: [refund approval-requested]"]);
    await shows(two, [`user: ${REFUND}`, "assistant: [refund approval-requested]"]);
    one.chat.addToolApprovalResponse({ id: approvalIds(one)[0] ?? "", approved: true });
    const done = [`user: ${REFUND}`, "assistant: [refund output-available]got refunded 7"];
    await shows(one, done);
    await shows(two, done);
  });

  it("[P28] stops what goes on after an approval: the run ends", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    const text = `then 200 ${REFUND}`;
    void tab.chat.sendMessage({ text });
    await shows(tab, [`user: ${text}`, "assistant: [refund approval-requested]"]);
    await settles(tab);
    tab.chat.addToolApprovalResponse({ id: approvalIds(tab)[0] ?? "", approved: true });
    await expect.poll(() => tab.shown.at(-1), { timeout: 10_000 }).toContain("w3 ");
    await tab.chat.stop();
    await settles(tab);
    await expect.poll(() => statuses(place), { timeout: 5_000 }).toEqual(["cancelled"]);
    expect(tab.shown.at(-1)).not.toContain("w200");
    await tab.chat.sendMessage({ text: "say next" });
    await expect.poll(() => tab.shown.at(-1), { timeout: 10_000 }).toBe("assistant: next");
  });

  it("[P26] takes messages that steer or interrupt, each answered once", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    void tab.chat.sendMessage({ text: "slow 200" });
    await expect.poll(() => tab.shown.at(-1), { timeout: 10_000 }).toContain("w3 ");
    const other = await openTab(place);
    void other.chat.sendMessage({ text: "slow 20" }, { body: { delivery: "interrupt" } });
    await expect.poll(() => statuses(place), { timeout: 5_000 }).toEqual(["running", "cancelled"]);
    await expect.poll(() => other.shown.at(-1), { timeout: 10_000 }).toContain("w3 ");
    void tab.chat.sendMessage({ text: "say steered" }, { body: { delivery: "steer" } });
    await expect
      .poll(() => statuses(place), { timeout: 10_000 })
      .toEqual(["completed", "cancelled"]);
    const again = await openTab(place);
    await expect.poll(() => again.shown.join("\n"), { timeout: 10_000 }).toContain("steered");
    expect(again.shown.filter((line) => line === "user: say steered")).toHaveLength(1);
    // What the interrupted run had said was not recorded; the other answered two messages in one.
    expect(again.shown.filter((line) => line.startsWith("assistant: "))).toEqual([
      expect.stringMatching(/^assistant: w1 .*w20 .*steered$/),
    ]);
    expect(again.shown.join("\n")).not.toContain("w200");
  });

  it("[P25] does not run a tool that was denied", async () => {
    const tab = await openTab(newPlace());
    void tab.chat.sendMessage({ text: REFUND });
    await shows(tab, [`user: ${REFUND}`, "assistant: [refund approval-requested]"]);
    await settles(tab);
    tab.chat.addToolApprovalResponse({ id: approvalIds(tab)[0] ?? "", approved: false });
    await expect
      .poll(() => tab.shown.at(-1), { timeout: 10_000 })
      .toMatch(/^assistant: \[refund output-denied\]got /);
  });

  it("[P25] lets the client carry out a tool of its own", async () => {
    const calls: unknown[] = [];
    const tab = await openTab(newPlace(), {
      onToolCall: ({ toolCall, addToolOutput }: ToolCall) => {
        calls.push(toolCall.toolName);
        addToolOutput({ toolCallId: toolCall.toolCallId, output: { city: "Basel" } });
      },
    });
    void tab.chat.sendMessage({ text: "call where {}" });
    await shows(tab, [
      "user: call where {}",
      'assistant: [where output-available]got {"city":"Basel"}',
    ]);
    expect(calls).toEqual(["where"]);
  });

  it("[P29] clears, in both tabs", async () => {
    const place = newPlace();
    const [one, two] = [await openTab(place), await openTab(place)];
    await one.chat.sendMessage({ text: "say a" });
    await shows(two, ["user: say a", "assistant: a"]);
    await settles(one);
    one.chat.clearHistory();
    await shows(one, []);
    await shows(two, []);
    await one.chat.sendMessage({ text: "say b" });
    await shows(one, ["user: say b", "assistant: b"]);
    await shows(two, ["user: say b", "assistant: b"]);
  });

  it("[P29] regenerates the last answer", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    await tab.chat.sendMessage({ text: "say a" });
    await shows(tab, ["user: say a", "assistant: a"]);
    await settles(tab);
    const before = tab.chat.messages.at(-1)?.id;
    await tab.chat.regenerate();
    await shows(tab, ["user: say a", "assistant: a"]);
    await expect.poll(() => tab.chat.messages.at(-1)?.id).not.toBe(before);
    const again = await openTab(place);
    await shows(again, ["user: say a", "assistant: a"]);
  });

  it("[P29] edits a message in place", async () => {
    const place = newPlace();
    const tab = await openTab(place);
    await tab.chat.sendMessage({ text: "say a" });
    await shows(tab, ["user: say a", "assistant: a"]);
    await settles(tab);
    const messageId = tab.chat.messages[0]?.id ?? "";
    await tab.chat.sendMessage({ text: "say b", messageId });
    await shows(tab, ["user: say b", "assistant: b"]);
    const again = await openTab(place);
    await shows(again, ["user: say b", "assistant: b"]);
  });
});

interface ToolCall {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string };
  readonly addToolOutput: (output: {
    readonly toolCallId: string;
    readonly output: unknown;
  }) => void;
}
