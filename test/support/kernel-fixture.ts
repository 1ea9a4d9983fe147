/** What kernel tests begin with: a manifest with a tool of each effect, and events as a log would store them. */
import type { EventHeader } from "#ports/event-log.ts";
import type { Usage } from "#ports/model.ts";
import type { ToolEffect } from "#ports/tool.ts";
import type { ThreadDraft, ThreadEvent } from "#kernel/events.ts";
import type { AgentManifest, ToolPin } from "#kernel/manifest.ts";
import { type Json, toWellFormedJson } from "#shared/json.ts";

export const NO_USAGE: Usage = {
  inputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
};

export function toolPin(name: string, effect: ToolEffect, maxCallsPerRun = 1_000): ToolPin {
  return {
    name,
    description: `does ${name}`,
    version: "1",
    inputSchema: { type: "object" },
    effect,
    approval: "never",
    limits: { timeoutMs: 1_000, maxResultBytes: 50_000, maxCallsPerRun },
  };
}

export const MANIFEST: AgentManifest = {
  name: "helper",
  description: "helps",
  instructions: "Help.",
  route: "embedded/scripted",
  settings: { maxOutputTokens: 200, temperature: null },
  contextTokens: 8_000,
  limits: { maxSteps: 12, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 4 },
  retry: { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 1_000 },
  tools: [
    toolPin("look", "read"),
    toolPin("put", "idempotent"),
    toolPin("pay", "once"),
    toolPin("book", "reconcile"),
  ],
  maxRepairs: 2,
};

const BLANK: EventHeader = {
  logId: "log_1",
  seq: 0,
  id: "",
  type: "",
  version: 1,
  at: 0,
  epoch: 0,
  tenant: "t1",
  agent: "helper",
  definition: null,
  thread: "main",
  run: null,
  step: null,
  call: null,
  attempt: null,
  cause: null,
  traceId: null,
  spanId: null,
  parentSpanId: null,
  rootRun: null,
  parentRun: null,
  depth: null,
  deadline: null,
  actor: null,
  subject: null,
  origin: null,
  costMicros: null,
  costKind: null,
  priceVersion: null,
  leaseId: null,
  payload: { digest: "", bytes: 0, ref: null, encoding: "json", keyId: null },
  prev: "",
};

export function toEvent(
  draft: ThreadDraft,
  stored: Pick<EventHeader, "seq" | "at" | "epoch" | "id">,
): ThreadEvent {
  const header: EventHeader = { ...BLANK, ...draft.scope, ...stored, type: draft.type };
  // As the log stores it (L7). A draft and its stored event share one discriminant; the compiler cannot follow it.
  const payload = toWellFormedJson(draft.payload as unknown as Json);
  return { type: draft.type, header, hash: "", payload } as unknown as ThreadEvent;
}
