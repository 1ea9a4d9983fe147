/**
 * FilledThread: threads with a canary in every place that may hold content, over the stores of a `NodeTenant`, and where
 * it is found.
 */
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { verifyChain } from "#audit/hash-chain.ts";
import { decide, listApprovals } from "#durable-objects/agent/approvals.ts";
import { putPushConfig } from "#durable-objects/agent/push/push-commands.ts";
import * as commands from "#durable-objects/agent/thread-commands.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { utf8 } from "#shared/json.ts";
import { NodeTenant } from "./node-tenant.ts";
import { ask, say } from "./scripted-model.ts";
import { StrictModel } from "./strict-model.ts";

export const AGENT = "keeper";
/** Above the size from which payloads and files lie in chunks and are copied to the archive. */
const large = (canary: string): string => `${canary} ${"large ".repeat(50_000)}`;

const look = defineTool({
  name: "look",
  description: "Looks.",
  version: "1",
  input: z.object({ what: z.string() }),
  effect: "read",
  limits: { maxResultBytes: 1_000_000 },
  execute: ({ what }) => large(what),
});
const keep = defineTool({
  name: "keep",
  description: "Keeps a file.",
  version: "1",
  input: z.object({ what: z.string() }),
  effect: "idempotent",
  execute: ({ what }, { files }) => {
    files.write(`${what}.txt`, utf8(large(what)));
    return `kept ${what}`;
  },
});
export const send = defineTool({
  name: "send",
  description: "Sends, when a person agrees.",
  version: "1",
  input: z.object({ what: z.string() }),
  effect: "once",
  approval: "always",
  execute: ({ what }) => `sent ${what}`,
});

/** Hears no call to stop: its result comes when `release` says so. */
export class Lingering {
  release: () => void = () => undefined;
  readonly tool = defineTool({
    name: "linger",
    description: "Takes its time.",
    version: "1",
    input: z.object({ what: z.string() }),
    effect: "idempotent",
    limits: { maxResultBytes: 1_000_000 },
    execute: async ({ what }) => {
      await new Promise<void>((resolve) => (this.release = resolve));
      return large(what);
    },
  });
}

/** Tools in a run whose message says `first`, words in any other. What is said last is repeated everywhere. */
const talkative = (): StrictModel =>
  new StrictModel((request) => {
    const said = request.messages.flatMap(({ role, content }) =>
      role === "user" ? [JSON.stringify(content)] : [],
    );
    const newest = said.at(-1) ?? "";
    const what = /canary-\w+/.exec(newest)?.[0] ?? "nothing";
    const begun = request.messages.findLastIndex(({ role }) => role === "user");
    const steps = request.messages.slice(begun).filter(({ role }) => role === "assistant").length;
    if (newest.includes("slow")) return ask(["linger", { what }]);
    if (!newest.includes("first")) return say(`answer ${what}`);
    if (steps === 0) return ask(["look", { what }], ["keep", { what }]);
    return steps === 1 ? ask(["send", { what }]) : say(`done ${what}`);
  });

export function openTenant(lingering: Lingering = new Lingering()): NodeTenant {
  const agent = defineAgent({
    name: AGENT,
    description: "keeps",
    instructions: "Help.",
    model: "test/strict",
    tools: [look, keep, send, lingering.tool],
    limits: { maxCostMicros: null },
  });
  return new NodeTenant({ agents: [agent], model: talkative() });
}

/** Answers its two runs. Everything that leaves the object has left it. */
export async function fill(
  tenant: NodeTenant,
  thread: string,
  { owner, canary }: { readonly owner: Caller; readonly canary: string },
): Promise<readonly [string, string]> {
  const host = tenant.open(tenant.address(AGENT, thread));
  const title = `title ${canary}`;
  await tenant.register(host.address, { owner: owner.id, title });
  take(commands.create(host, owner, { title, idempotencyKey: null }));
  take(commands.putState(host, owner, { state: { note: canary }, idempotencyKey: null }));
  const upload = { path: `upload-${canary}.txt`, content: utf8(large(canary)) };
  take(commands.writeFile(host, owner, { ...upload, idempotencyKey: null }));
  const first = sendText(host, owner, `first ${canary}`);
  await host.runtime.drive();
  const [waiting] = listApprovals(host, { after: 0, limit: 10, state: "open" }).items;
  const decision = {
    approvalId: waiting?.approvalId ?? "",
    decision: "approve",
    comment: `comment ${canary}`,
    answer: null,
  } as const;
  take(decide(host, owner, { decision, idempotencyKey: null }));
  await host.runtime.drive();
  const second = sendText(host, owner, `second ${canary}`);
  await host.runtime.drive();
  take(
    putPushConfig(host, {
      runId: first,
      configId: null,
      target: { url: "https://example.com/", token: canary, authentication: null },
      origin: "https://agents.example.com",
      from: "now",
    }),
  );
  while (await host.drainOutbox());
  for (const runId of [first, second]) tenant.vectors.put({ ...host.address, runId });
  return [first, second];
}

export function sendText(host: ThreadHost, owner: Caller, text: string): string {
  const message = { text, delivery: "queue", output: null, messageId: null } as const;
  return take(commands.send(host, owner, { message, idempotencyKey: `key ${text}` })).runId ?? "";
}

export function take<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value;
}

/** Null when the chain verifies. */
export function chainFault({ log, storage }: ThreadHost): string | null {
  const bounds = { base: log.base(), head: log.head() };
  const verified = verifyChain(log.raw({ limit: 100_000 }), storage.hasher, bounds);
  return verified.ok ? null : `${verified.error.reason} at ${verified.error.seq}`;
}
