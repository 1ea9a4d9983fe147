/** Operations by their name in the protocol: what each reads, and what it answers. Both bindings go through this table (P91). */
import type { z } from "zod";
import type { Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { toInvalid, type A2aError } from "./errors.ts";
import { requireScopes, type A2aCall } from "./call.ts";
import { listTasks } from "./list.ts";
import {
  cancelTask,
  getTask,
  sendMessage,
  streamMessage,
  subscribe,
  type OpenUpdates,
} from "./serve.ts";
import { createPush, deletePush, getPush, listPushes } from "./push.ts";
import {
  CreatePushRequest,
  fromProtoJson,
  ListPushRequest,
  ListRequest,
  NoRequest,
  PushRequest,
  SendRequest,
  TaskRequest,
} from "./wire.ts";

export interface ServedCall extends A2aCall {
  /** The agent's card for a caller who is known. */
  readonly extendedCard: () => Promise<Json>;
}
export type Outcome =
  | { readonly type: "json"; readonly value: Json }
  | { readonly type: "stream"; readonly open: OpenUpdates };
type Serve = (call: ServedCall, params: unknown) => Promise<Result<Outcome, A2aError>>;

export const OPERATIONS: ReadonlyMap<string, Serve> = new Map<string, Serve>([
  ["SendMessage", answers(SendRequest, sendMessage)],
  ["SendStreamingMessage", streams(SendRequest, streamMessage)],
  ["GetTask", answers(TaskRequest, getTask)],
  ["ListTasks", answers(ListRequest, listTasks)],
  ["CancelTask", answers(TaskRequest, cancelTask)],
  ["SubscribeToTask", streams(TaskRequest, subscribe)],
  ["GetExtendedAgentCard", answers(NoRequest, extendedCard)],
  ["CreateTaskPushNotificationConfig", answers(CreatePushRequest, createPush)],
  ["GetTaskPushNotificationConfig", answers(PushRequest, getPush)],
  ["ListTaskPushNotificationConfigs", answers(ListPushRequest, listPushes)],
  ["DeleteTaskPushNotificationConfig", answers(PushRequest, deletePush)],
]);

async function extendedCard(call: ServedCall): Promise<Result<Json, A2aError>> {
  const allowed = requireScopes(call, ["threads:read"]);
  return allowed.ok ? ok(await call.extendedCard()) : allowed;
}

function answers<S extends z.ZodType, T>(
  schema: S,
  serve: (call: ServedCall, input: z.output<S>) => Promise<Result<T, A2aError>>,
): Serve {
  return async (call, params) => {
    const input = schema.safeParse(fromProtoJson(params ?? {}));
    if (!input.success) return err(toInvalid(input.error));
    const served = await serve(call, input.data);
    // Each answer is of the shapes in wire.ts, which are plain JSON.
    return served.ok ? ok({ type: "json", value: served.value as Json }) : served;
  };
}

function streams<S extends z.ZodType>(
  schema: S,
  serve: (call: ServedCall, input: z.output<S>) => Promise<Result<OpenUpdates, A2aError>>,
): Serve {
  return async (call, params) => {
    const input = schema.safeParse(fromProtoJson(params ?? {}));
    if (!input.success) return err(toInvalid(input.error));
    const served = await serve(call, input.data);
    return served.ok ? ok({ type: "stream", open: served.value }) : served;
  };
}
