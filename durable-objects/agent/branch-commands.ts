/** Commands on branches: the point in the log that each means, then a command of the kernel (K41 to K44). */
import { leftWindow } from "#kernel/branch.ts";
import type { BranchRun, Receipt, Rejection } from "#kernel/commands.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Caller, EditMessage, Regenerate, Reply } from "#ports/thread-gateway.ts";
import {
  findInput,
  pointBefore,
  type BranchSource,
  type FoundPoint,
} from "#runner/branch-point.ts";
import { err, ok } from "#shared/result.ts";
import { toFailure, UNDEPLOYED } from "./refusals.ts";
import type { ThreadHost } from "./thread-host.ts";

/** Seqs, not texts, are what a branch begins with; an erased message has no text to answer again. */
export function regenerate(
  host: ThreadHost,
  caller: Caller,
  { messageId, idempotencyKey }: Regenerate,
): Reply<Receipt> {
  return fromPoint(host, messageId, { replaced: false }, ({ input, point }, definition) => {
    if (input.payload === null) return refuse({ reason: "message_unknown" });
    const { messageId: id, text, output } = input.payload;
    const run = { ...newRun(host, definition), messageId: id, text, output };
    return host.submit(
      caller,
      {
        type: "start_branch",
        branch: host.storage.ids.next("br"),
        reason: "regenerate",
        point,
        run: { ...run, seq: input.header.seq },
      },
      { idempotencyKey, body: { messageId } },
    );
  });
}

export function edit(
  host: ThreadHost,
  caller: Caller,
  { messageId, text, newMessageId, idempotencyKey }: EditMessage,
): Reply<Receipt> {
  return fromPoint(host, messageId, { replaced: true }, ({ input, point }, definition) => {
    // An answer is regenerated, not edited.
    if (input.payload !== null && input.payload.messageId !== messageId)
      return refuse({ reason: "message_unknown" });
    const { ids } = host.storage;
    const output = input.payload?.output ?? null;
    const run = { ...newRun(host, definition), text, output, seq: null };
    return host.submit(
      caller,
      {
        type: "start_branch",
        branch: ids.next("br"),
        reason: "edit",
        point,
        run: { ...run, messageId: newMessageId ?? ids.next("msg") },
      },
      { idempotencyKey, body: { messageId, text } },
    );
  });
}

/** Files and the shared state stay: they are the thread's, not the conversation's. */
export function clear(
  host: ThreadHost,
  caller: Caller,
  idempotencyKey: string | null,
): Reply<Receipt> {
  const parent = host.runtime.state.branch.id;
  return host.submit(
    caller,
    {
      type: "start_branch",
      branch: host.storage.ids.next("br"),
      reason: "clear",
      point: { parent, keepTo: 0, without: [], entries: [], plan: [] },
      run: null,
    },
    { idempotencyKey, body: null },
  );
}

export function select(
  host: ThreadHost,
  caller: Caller,
  { branch, idempotencyKey }: { readonly branch: string; readonly idempotencyKey: string | null },
): Reply<Receipt> {
  const { state } = host.runtime;
  if (host.branches.get(state, branch) === null) return refuse({ reason: "branch_unknown" });
  const left = host.branches.leftBy(state, branch)?.payload ?? null;
  const window =
    left === null ? { entries: [], plan: [] } : leftWindow(left, (seq) => host.log.get(seq));
  return host.submit(
    caller,
    { type: "select_branch", branch, window },
    { idempotencyKey, body: { branch } },
  );
}

function fromPoint(
  host: ThreadHost,
  messageId: string | null,
  how: { readonly replaced: boolean },
  then: (found: FoundPoint, definition: AgentDefinition) => Reply<Receipt>,
): Reply<Receipt> {
  if (host.definition === null) return err(UNDEPLOYED);
  const { state } = host.runtime;
  const source: BranchSource = { log: host.log, history: host.branches, state };
  const input = findInput(source, messageId);
  const found = input === null ? null : pointBefore(source, input, how);
  return found === null ? refuse({ reason: "message_unknown" }) : then(found, host.definition);
}

function newRun(
  host: ThreadHost,
  definition: AgentDefinition,
): Pick<BranchRun, "runId" | "manifest" | "definition"> {
  return {
    runId: host.storage.ids.next("run"),
    manifest: definition.manifest,
    definition: host.definitionOf(definition),
  };
}

function refuse(rejection: Rejection): Reply<never> {
  return err(toFailure(rejection));
}
