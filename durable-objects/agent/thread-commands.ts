/** Thread commands: what a caller asks for, as commands of the kernel, with their idempotency bodies (K2). */
import { withExtras } from "#authoring/caller-tool.ts";
import { toPlannedRun, type PlannedRun } from "#authoring/planned-run.ts";
import type { Receipt } from "#kernel/commands.ts";
import { canErase } from "#kernel/erasure.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Caller, FileUpload, Reply, SendMessage, ThreadView } from "#ports/thread-gateway.ts";
import type { FileStat } from "#ports/workspace.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";
import type { ErrorCode } from "#shared/errors.ts";
import { canonicalJson, utf8, type Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { UNDEPLOYED } from "./refusals.ts";
import { checkAccess } from "./access.ts";
import type { ThreadHost } from "./thread-host.ts";
import { viewThread } from "./thread-reader.ts";

interface Keyed {
  readonly idempotencyKey: string | null;
}
export interface FileWritten {
  readonly receipt: Receipt;
  readonly stat: FileStat;
}

/** Creating a thread that one owns already answers it as it is: a repeated request changes nothing. */
export function create(
  host: ThreadHost,
  caller: Caller,
  request: Keyed & { readonly title: string | null },
): Reply<ThreadView> {
  const { title, idempotencyKey } = request;
  // With a key it is submitted even where the thread exists: the key may stand for another request (K2).
  if (!host.runtime.state.created || idempotencyKey !== null) {
    const reply = host.submit(
      caller,
      { type: "create_thread", owner: caller.id, title },
      { idempotencyKey, body: { title } },
    );
    if (!reply.ok && reply.error.code !== "conflict") return reply;
  }
  const access = checkAccess(caller, host.address, host.runtime.state.owner);
  return access.ok ? ok(viewThread(host)) : access;
}

export function send(
  host: ThreadHost,
  caller: Caller,
  request: Keyed & { readonly message: SendMessage },
): Reply<Receipt> {
  const { message, idempotencyKey } = request;
  if (host.definition === null) return err(UNDEPLOYED);
  const { extras = null, outside = null } = message;
  const begun = toBeginning(host.definition, message);
  if (!begun.ok) return refuse("invalid_request", begun.error);
  const { definition, text } = begun.value;
  const { ids } = host.storage;
  const { delivery, output } = message;
  const body: Json = {
    text,
    delivery,
    output: output === null ? null : { name: output.name, schema: output.schema },
    // A message without extras has the digest that it always had.
    ...(extras === null ? {} : { extras: extras as unknown as Json }),
  };
  return host.submit(
    caller,
    {
      type: "send_message",
      messageId: message.messageId ?? ids.next("msg"),
      runId: ids.next("run"),
      text,
      delivery,
      output,
      defaultOutput: definition.output ?? null,
      manifest: definition.manifest,
      definition: host.definitionOf(definition),
      separate: extras !== null,
      outside,
      history: extras?.history ?? null,
    },
    { idempotencyKey, body },
  );
}

/** The definition that the message's run is pinned to, and what it says. */
function toBeginning(
  own: AgentDefinition,
  { text, extras }: SendMessage,
): Result<PlannedRun, string> {
  if (extras === undefined) return ok({ definition: own, text });
  if (extras.call !== undefined) return toPlannedRun(own, extras.call);
  const extended = withExtras(own, extras);
  return extended.ok ? ok({ definition: extended.value, text }) : extended;
}

export function cancel(
  host: ThreadHost,
  caller: Caller,
  request: { readonly runId: string; readonly reason: string },
): Reply<Receipt> {
  const reply = host.submit(
    caller,
    { type: "cancel_run", ...request },
    { idempotencyKey: null, body: request },
  );
  if (reply.ok || reply.error.code !== "not_found") return reply;
  const run = host.runs.get(request.runId);
  if (run === null) return reply;
  return err({
    code: "run_not_active",
    message: `the run has ended as ${run.status}`,
    detail: { status: run.status },
    retryable: false,
  });
}

export function putState(
  host: ThreadHost,
  caller: Caller,
  request: Keyed & { readonly state: Json },
): Reply<Receipt> {
  const { state, idempotencyKey } = request;
  const bytes = utf8(canonicalJson(state)).byteLength;
  return host.submit(caller, { type: "set_state", state, bytes }, { idempotencyKey, body: state });
}

export function writeFile(
  host: ThreadHost,
  caller: Caller,
  request: FileUpload,
): Reply<FileWritten> {
  const { content, idempotencyKey } = request;
  const path = requireWorkspacePath(request.path);
  const digest = host.storage.hasher.sha256(content);
  const reply = host.submit(
    caller,
    { type: "write_file", path, digest, bytes: content.byteLength },
    // The store checks quotas and takes the content in the transaction of the event.
    {
      idempotencyKey,
      body: { path, digest },
      within: () => void host.workspace.commit([{ type: "write", path, content }]),
    },
  );
  if (!reply.ok) return reply;
  const stat = host.workspace.reader.stat(path) ?? {
    path,
    digest,
    bytes: content.byteLength,
    updatedAt: host.now,
  };
  return ok({ receipt: reply.value, stat });
}

export function deleteFile(host: ThreadHost, caller: Caller, path: string): Reply<Receipt> {
  const known = requireWorkspacePath(path);
  if (host.workspace.reader.stat(known) === null) {
    return err({ code: "not_found", message: "no such file", detail: {}, retryable: false });
  }
  return host.submit(
    caller,
    { type: "delete_file", path: known },
    { idempotencyKey: null, body: { path: known } },
  );
}

/** Erases one event's payload and what it names: header and chain stay, salt and content go (L4). */
export async function erase(
  host: ThreadHost,
  seq: number,
): Promise<Reply<{ readonly erased: number }>> {
  const event = host.log.get(seq);
  if (event === null) return refuse("not_found", "no such event");
  if (!canErase(host.runtime.state, { seq, type: event.type })) {
    return refuse(
      "invalid_request",
      `event ${seq} of type ${event.type} is needed to go on: it holds no content, or a live run still builds on it`,
    );
  }
  return ok({ erased: await host.erase(event) });
}

function refuse(code: ErrorCode, message: string): Reply<never> {
  return err({ code, message, detail: {}, retryable: false });
}
