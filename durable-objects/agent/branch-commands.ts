/** Commands on branches: the point in the log that each means, then a command of the kernel (K41 to K44). */
import { leftWindow } from "#kernel/branch.ts";
import type { BranchRun, Receipt, Rejection } from "#kernel/commands.ts";
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

/** Answers a message again. An erased one has no text that could be answered. */
export function regenerate(
  host: ThreadHost,
  caller: Caller,
  { messageId, idempotencyKey }: Regenerate,
): Reply<Receipt> {
  const found = begin(host, messageId, { replaced: false });
  if (!found.ok) return found;
  const { input, point, run } = found.value;
  if (input.payload === null) return refuse({ reason: "message_unknown" });
  const { messageId: id, text, output } = input.payload;
  return host.submit(
    caller,
    {
      type: "start_branch",
      branch: host.storage.ids.next("br"),
      reason: "regenerate",
      point,
      run: { ...run, messageId: id, text, output, seq: input.header.seq },
    },
    { idempotencyKey, body: { messageId } },
  );
}

export function edit(
  host: ThreadHost,
  caller: Caller,
  { messageId, text, newMessageId, idempotencyKey }: EditMessage,
): Reply<Receipt> {
  const found = begin(host, messageId, { replaced: true });
  if (!found.ok) return found;
  const { input, point, run } = found.value;
  // An answer is regenerated, not edited.
  if (input.payload !== null && input.payload.messageId !== messageId)
    return refuse({ reason: "message_unknown" });
  const { ids } = host.storage;
  const output = input.payload?.output ?? null;
  return host.submit(
    caller,
    {
      type: "start_branch",
      branch: ids.next("br"),
      reason: "edit",
      point,
      run: { ...run, messageId: newMessageId ?? ids.next("msg"), text, output, seq: null },
    },
    { idempotencyKey, body: { messageId, text } },
  );
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

interface Beginning extends FoundPoint {
  readonly run: Pick<BranchRun, "runId" | "manifest" | "definition">;
}

function begin(
  host: ThreadHost,
  messageId: string | null,
  how: { readonly replaced: boolean },
): Reply<Beginning> {
  const { definition } = host;
  if (definition === null) return err(UNDEPLOYED);
  const { state } = host.runtime;
  const source: BranchSource = { log: host.log, history: host.branches, state };
  const input = findInput(source, messageId);
  const found = input === null ? null : pointBefore(source, input, how);
  if (found === null) return refuse({ reason: "message_unknown" });
  const { manifest } = definition;
  const runId = host.storage.ids.next("run");
  return ok({ ...found, run: { runId, manifest, definition: host.definitionOf(definition) } });
}

function refuse(rejection: Rejection): Reply<never> {
  return err(toFailure(rejection));
}
