/**
 * A2A 1.0 (a2a-protocol.org, ProtoJSON of `lf.a2a.v1`): what is read of requests, and the shapes that are sent.
 *
 * Fields that are not known are passed over, as the protocol asks, and both spellings of ProtoJSON are read. What is
 * written is camelCase with enums by name.
 */
import { z } from "zod";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

export const A2A_VERSION = "1.0";
/** In JSON; also what a data part may hold. */
export const JSON_TYPE = "application/json";
export const TEXT_TYPE = "text/plain";
export const MAX_HISTORY = 200;
export const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

export type TaskState =
  | "TASK_STATE_SUBMITTED"
  | "TASK_STATE_WORKING"
  | "TASK_STATE_INPUT_REQUIRED"
  | "TASK_STATE_COMPLETED"
  | "TASK_STATE_FAILED"
  | "TASK_STATE_CANCELED";

export type Part =
  | { readonly text: string; readonly mediaType?: string }
  | { readonly data: Json; readonly mediaType: string }
  | { readonly url: string; readonly filename: string; readonly mediaType: string };
export interface Message {
  readonly messageId: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly role: "ROLE_USER" | "ROLE_AGENT";
  readonly parts: readonly Part[];
}
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  readonly timestamp: string;
}
export interface Artifact {
  readonly artifactId: string;
  readonly name: string;
  readonly parts: readonly Part[];
}
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}
export interface StatusUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly metadata?: JsonObject;
}
export interface ArtifactUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: Artifact;
  /** Absent: the artifact is what it is here, whatever was told of it before. */
  readonly append?: true;
  readonly lastChunk?: true;
  readonly metadata?: JsonObject;
}
export type StreamResponse =
  | { readonly task: Task }
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate };

export interface PushConfig {
  readonly id: string;
  readonly taskId: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

const AnyJson = z.unknown().transform((value) => (value ?? null) as Json);
const Id = z.string().min(1).max(256);
/** Of proto3, where an empty string is an absent one. */
const OptionalId = z
  .string()
  .max(256)
  .optional()
  .transform((id) => (id === "" ? undefined : id));
const HistoryLength = z.int().min(0).max(1_000_000).optional();

const InPart = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    data: AnyJson.optional(),
    mediaType: z.string().max(256).optional(),
    filename: z.string().max(256).optional(),
  })
  .refine(
    (part) => ["text", "raw", "url", "data"].filter((key) => key in part).length === 1,
    "exactly one of text, raw, url and data",
  );
export type InPart = z.output<typeof InPart>;

const InMessage = z.looseObject({
  messageId: Id,
  contextId: OptionalId,
  taskId: OptionalId,
  role: z.literal("ROLE_USER", "must be ROLE_USER"),
  parts: z.array(InPart).min(1, "at least one part").max(1_000),
});
export type InMessage = z.output<typeof InMessage>;

const InPushConfig = z.looseObject({
  id: OptionalId,
  taskId: OptionalId,
  url: z.string().min(1).max(2_048),
  token: z.string().max(4_096).optional(),
  authentication: z
    .looseObject({
      scheme: z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, "a scheme of HTTP"),
      credentials: z.string().max(8_192).optional(),
    })
    .optional(),
});
export type InPushConfig = z.output<typeof InPushConfig>;

export const SendRequest = z.looseObject({
  message: InMessage,
  configuration: z
    .looseObject({
      acceptedOutputModes: z.array(z.string()).optional(),
      taskPushNotificationConfig: InPushConfig.optional(),
      historyLength: HistoryLength,
      returnImmediately: z.boolean().default(false),
    })
    .optional(),
});
export type SendRequest = z.output<typeof SendRequest>;

export const TaskRequest = z.looseObject({ id: Id, historyLength: HistoryLength });
export type TaskRequest = z.output<typeof TaskRequest>;

export const ListRequest = z.looseObject({
  contextId: OptionalId,
  status: z
    .enum([
      "TASK_STATE_UNSPECIFIED",
      "TASK_STATE_SUBMITTED",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
      "TASK_STATE_FAILED",
      "TASK_STATE_CANCELED",
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_REJECTED",
      "TASK_STATE_AUTH_REQUIRED",
    ])
    .optional()
    .transform((state) => (state === "TASK_STATE_UNSPECIFIED" ? undefined : state)),
  pageSize: z.int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
  pageToken: z.string().max(512).default(""),
  historyLength: HistoryLength,
  statusTimestampAfter: z.iso.datetime({ offset: true }).optional(),
  includeArtifacts: z.boolean().default(false),
});
export type ListRequest = z.output<typeof ListRequest>;

export const CreatePushRequest = InPushConfig.extend({ taskId: Id });
export const PushRequest = z.looseObject({ taskId: Id, id: Id });
export const ListPushRequest = z.looseObject({
  taskId: Id,
  pageSize: z.int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
  pageToken: z.string().max(512).default(""),
});
export const NoRequest = z.looseObject({});

export const RpcRequest = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
  params: z.unknown().optional(),
});
export type RpcId = z.output<typeof RpcRequest>["id"];

/** Values that are the sender's own: nothing in them is a field of the protocol. */
const OPAQUE = new Set(["data", "metadata", "params", "header"]);

/** ProtoJSON allows the names of the proto file too: `task_id` is `taskId`. */
export function fromProtoJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromProtoJson);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      OPAQUE.has(key) ? item : fromProtoJson(item),
    ]),
  );
}
