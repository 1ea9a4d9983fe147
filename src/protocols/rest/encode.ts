/** Views of the ports to documents of the API: links added, and what a principal may not see left out. */
import type { Receipt } from "#kernel/commands.ts";
import type { ThreadRecord } from "#ports/directory.ts";
import type { Principal } from "#auth/principal.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import type { AgentEntry } from "./context.ts";

export function threadPath({ agent, thread }: ThreadPlace): string {
  return `/v1/agents/${agent}/threads/${thread}`;
}

export function encodeAgent(entry: AgentEntry, principal: Principal) {
  const { manifest, definition } = entry;
  return {
    name: manifest.name,
    description: manifest.description,
    definition,
    model: manifest.route,
    tools: manifest.tools.map(({ name, description, version }) => ({ name, description, version })),
    manifest: principal.kind === "user" ? null : manifest,
  };
}

export function encodeMessageReceipt(place: ThreadPlace, receipt: Receipt) {
  const path = threadPath(place);
  const query = new URLSearchParams({ from: String(receipt.seq) });
  if (receipt.runId !== null) query.set("run", receipt.runId);
  return {
    ...receipt,
    agent: place.agent,
    thread: place.thread,
    run: receipt.runId === null ? null : `${path}/runs/${receipt.runId}`,
    stream: `${path}/events?${query}`,
  };
}

export function encodeThreadList(records: readonly ThreadRecord[], limit: number) {
  const last = records.length === limit ? records.at(-1) : undefined;
  return {
    items: records.map(({ tenant: _tenant, ...item }) => item),
    next: last === undefined ? null : `${last.createdAt}.${last.agent}.${last.thread}`,
  };
}
