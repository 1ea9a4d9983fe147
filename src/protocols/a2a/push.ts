/**
 * Push notifications: configurations of a task, and what a receiver is posted.
 *
 * P98 a receiver is posted the task as it stood after each change of its state, in order, at least once: `webhook-id` is the
 * same when it comes again. P99 an address is called only where requests may go, secrets are sent to it alone, and no
 * answer of this service holds them.
 */
import { toCaller } from "#auth/principal.ts";
import type { PushConfigView, PushProtocol, PushTarget } from "#ports/push.ts";
import { readEvents } from "#protocols/common/turn.ts";
import { checkEgressUrl, describeRefusal } from "#shared/egress-address.ts";
import { trusted, type RunId } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { z } from "zod";
import { a2aError, invalidField, toA2aError, type A2aError } from "./errors.ts";
import { toTaskId, type TaskPlace } from "./ids.ts";
import { findTask, toFileUrl, type A2aCall, type Served } from "./call.ts";
import { TaskWriter } from "./task-writer.ts";
import {
  A2A_VERSION,
  type CreatePushRequest,
  type InPushConfig,
  type ListPushRequest,
  type PushConfig,
  type PushRequest,
} from "./wire.ts";

/** Beyond it a task is told without its artifacts, which its receiver can get. */
const MAX_BODY_BYTES = 200_000;

export const pushProtocol: PushProtocol = {
  encode({ place, origin, events, target }) {
    const { agent, thread, run } = place;
    const at: TaskPlace = { agent, thread, run: trusted<RunId>(run) };
    const writer = new TaskWriter({ place: at, fileUrl: toFileUrl(origin, at) });
    for (const item of readEvents(events, run)) writer.read(item);
    const task = writer.task(0);
    const { state } = task.status;
    if (state === "TASK_STATE_SUBMITTED") return null;
    const whole = JSON.stringify({ task });
    const { artifacts: _, ...bare } = task;
    const body = utf8(whole).byteLength > MAX_BODY_BYTES ? JSON.stringify({ task: bare }) : whole;
    return { state, post: { url: target.url, headers: headersOf(target), body } };
  },
};

function headersOf({ token, authentication }: PushTarget): { readonly [name: string]: string } {
  const { scheme = "", credentials = null } = authentication ?? {};
  return {
    "content-type": "application/a2a+json",
    "a2a-version": A2A_VERSION,
    ...(token === null ? {} : { "x-a2a-notification-token": token }),
    ...(credentials === null ? {} : { authorization: `${scheme} ${credentials}` }),
  };
}

export async function createPush(
  call: A2aCall,
  request: z.output<typeof CreatePushRequest>,
): Served<PushConfig> {
  const found = await findTask(call, request.taskId, "threads:write");
  return found.ok ? putPush(call, found.value.place, { config: request, from: "now" }) : found;
}

export async function putPush(
  { deps, principal, origin }: A2aCall,
  place: TaskPlace,
  { config, from }: { readonly config: InPushConfig; readonly from: "start" | "now" },
): Served<PushConfig> {
  const target = toTarget(config, deps.egress);
  if (!target.ok) return target;
  const caller = toCaller(principal);
  const { id: configId = null } = config;
  const put = await deps.threads
    .stub(caller, place)
    .putPushConfig(caller, { runId: place.run, configId, target: target.value, origin, from });
  return put.ok ? ok(toConfig(place, put.value)) : err(toA2aError(put.error));
}

export async function getPush(
  call: A2aCall,
  { taskId, id }: z.output<typeof PushRequest>,
): Served<PushConfig> {
  const listed = await read(call, taskId);
  if (!listed.ok) return listed;
  const config = listed.value.find((each) => each.id === id);
  return config === undefined ? err(a2aError("TASK_NOT_FOUND")) : ok(config);
}

/** A task has few, so that they are one page. */
export async function listPushes(
  call: A2aCall,
  { taskId }: z.output<typeof ListPushRequest>,
): Served<{ readonly configs: readonly PushConfig[]; readonly nextPageToken: string }> {
  const listed = await read(call, taskId);
  return listed.ok ? ok({ configs: listed.value, nextPageToken: "" }) : listed;
}

/** Deleting what is gone is done already. */
export async function deletePush(
  call: A2aCall,
  { taskId, id }: z.output<typeof PushRequest>,
): Served<Record<string, never>> {
  const found = await findTask(call, taskId, "threads:write");
  if (!found.ok) return found;
  const { place, stub } = found.value;
  const dropped = await stub.dropPushConfig(toCaller(call.principal), place.run, id);
  if (!dropped.ok && dropped.error.code !== "not_found") return err(toA2aError(dropped.error));
  return ok({});
}

async function read(call: A2aCall, taskId: string): Served<readonly PushConfig[]> {
  const found = await findTask(call, taskId, "threads:read");
  if (!found.ok) return found;
  const { place, stub } = found.value;
  const listed = await stub.pushConfigs(toCaller(call.principal), place.run);
  if (!listed.ok) return err(toA2aError(listed.error));
  return ok(listed.value.map((view) => toConfig(place, view)));
}

/** Before a message is taken: one whose receiver is refused is not taken either. */
export function checkPush(
  { deps }: A2aCall,
  config: InPushConfig | undefined,
): Result<null, A2aError> {
  if (config === undefined) return ok(null);
  const target = toTarget(config, deps.egress);
  return target.ok ? ok(null) : target;
}

function toTarget(
  { url, token, authentication }: InPushConfig,
  egress: A2aCall["deps"]["egress"],
): Result<PushTarget, A2aError> {
  const checked = checkEgressUrl(url, egress);
  if (!checked.ok) return err(invalidField("url", describeRefusal(checked.error)));
  const { scheme, credentials = "" } = authentication ?? {};
  for (const [field, value] of Object.entries({ token, credentials }))
    if (!/^[\x20-\x7e]*$/.test(value ?? ""))
      return err(invalidField(field, "must be printable ASCII, as a header is"));
  return ok({
    url: checked.value.href,
    token: token === undefined || token === "" ? null : token,
    authentication:
      scheme === undefined
        ? null
        : { scheme, credentials: credentials === "" ? null : credentials },
  });
}

function toConfig(place: TaskPlace, { configId: id, url, scheme }: PushConfigView): PushConfig {
  const authentication = scheme === null ? {} : { authentication: { scheme } };
  return { id, taskId: toTaskId(place), url, ...authentication };
}
