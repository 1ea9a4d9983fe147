/**
 * Both bindings of A2A 1.0 under `/a2a/:agent`: JSON-RPC at the path itself, HTTP+JSON below it.
 *
 * P91 the same operations with the same meaning, whichever is spoken. A request whose version is not 1.0 is refused before
 * anything of it is understood, and what is refused is an answer, never a frame of a stream.
 */
import { SSE_HEADERS, toSse } from "#protocols/common/sse-writer.ts";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, readBytes } from "#protocols/rest/body.ts";
import { fromUtf8, isJsonObject, jsonDepth, type Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { a2aError, toA2aError, toHttpError, toRpcError, type A2aError } from "./errors.ts";
import type { ZodError } from "zod";
import { OPERATIONS, type Outcome, type ServedCall } from "./operations.ts";
import type { OpenUpdates } from "./serve.ts";
import { A2A_VERSION, RpcRequest, type RpcId } from "./wire.ts";

const VERSION_HEADER = "a2a-version";
const VERSION_PARAM = "A2A-Version";
/** An empty version means 0.3 (A2A 1.0, 3.6.2). */
const OLD_VERSION = "0.3";

export async function serveRpc(call: ServedCall, request: Request): Promise<Response> {
  const version = checkVersion(request);
  const body = await readBody(request);
  if (!body.ok) return Response.json(toRpcError(body.error, null), httpOf(body.error));
  const parsed = RpcRequest.safeParse(body.value);
  if (!parsed.success)
    return rpc(toRpcError(a2aError("INVALID_REQUEST", describe(parsed.error)), idOf(body.value)));
  const { id, method, params } = parsed.data;
  if (version !== null) return rpc(toRpcError(version, id));
  const serve = OPERATIONS.get(method);
  if (serve === undefined) return rpc(toRpcError(a2aError("METHOD_NOT_FOUND"), id));
  if (params !== undefined && !isJsonObject(params))
    return rpc(toRpcError(a2aError("INVALID_PARAMS", "params must be an object"), id));
  const served = await serve(call, params);
  if (!served.ok) return rpc(toRpcError(served.error, id));
  const outcome = served.value;
  return outcome.type === "json"
    ? rpc({ jsonrpc: "2.0", id, result: outcome.value })
    : stream(outcome.open, {
        update: (result) => ({ jsonrpc: "2.0", id, result }),
        error: (error) => toRpcError(error, id),
      });
}

export interface HttpPlace {
  /** Below the agent, decoded: `tasks/{id}:cancel`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export async function serveHttp(
  call: ServedCall,
  request: Request,
  place: HttpPlace,
): Promise<Response> {
  const version = checkVersion(request);
  if (version !== null) return refuse(version);
  const found = findOperation(request.method, place);
  if (!found.ok) return refuse(found.error);
  const { operation, params } = found.value;
  const body = request.method === "POST" ? await readBody(request) : ok({});
  if (!body.ok) return refuse(body.error);
  if (!isJsonObject(body.value)) return refuse(a2aError("INVALID_REQUEST"));
  const serve = OPERATIONS.get(operation);
  if (serve === undefined) return refuse(a2aError("METHOD_NOT_FOUND"));
  // What the path says goes before what the body says.
  const served = await serve(call, { ...body.value, ...params });
  if (!served.ok) return refuse(served.error);
  const outcome: Outcome = served.value;
  return outcome.type === "json"
    ? Response.json(outcome.value)
    : stream(outcome.open, { update: (update) => update, error: toHttpError });
}

interface Operation {
  readonly operation: string;
  readonly params: { readonly [name: string]: Json };
}
interface Route {
  readonly methods: readonly string[];
  readonly pattern: RegExp;
  readonly operation: string;
  /** Names of the pattern's groups. */
  readonly names: readonly string[];
}

const TASK = "tasks/([^/:]+)";
const PUSH = `${TASK}/pushNotificationConfigs`;
const ROUTES: readonly Route[] = [
  route("POST message:send", "SendMessage"),
  route("POST message:stream", "SendStreamingMessage"),
  route("GET tasks", "ListTasks"),
  route(`GET ${TASK}`, "GetTask", "id"),
  route(`POST ${TASK}:cancel`, "CancelTask", "id"),
  // The proto file binds GET, the first edition of the text POST.
  route(`GET,POST ${TASK}:subscribe`, "SubscribeToTask", "id"),
  route(`POST ${PUSH}`, "CreateTaskPushNotificationConfig", "taskId"),
  route(`GET ${PUSH}`, "ListTaskPushNotificationConfigs", "taskId"),
  route(`GET ${PUSH}/([^/]+)`, "GetTaskPushNotificationConfig", "taskId id"),
  route(`DELETE ${PUSH}/([^/]+)`, "DeleteTaskPushNotificationConfig", "taskId id"),
  route("GET extendedAgentCard", "GetExtendedAgentCard"),
];

/** `METHOD,METHOD pattern`, and the names of the pattern's groups. */
function route(resource: string, operation: string, names = ""): Route {
  const [methods = "", pattern = ""] = resource.split(" ");
  return {
    methods: methods.split(","),
    pattern: new RegExp(`^${pattern}$`),
    operation,
    names: names.split(" ").filter((name) => name !== ""),
  };
}

function findOperation(method: string, { path, query }: HttpPlace): Result<Operation, A2aError> {
  const there = ROUTES.filter(({ pattern }) => pattern.test(path));
  const found = there.find(({ methods }) => methods.includes(method));
  if (found === undefined)
    return err(
      there.length === 0
        ? a2aError("METHOD_NOT_FOUND")
        : {
            ...a2aError("METHOD_NOT_FOUND", "This resource does not support the method"),
            http: 405,
          },
    );
  const [, ...groups] = found.pattern.exec(path) ?? [];
  const params = Object.fromEntries(
    found.names.map((name, index) => [name, groups[index] ?? ""] as const),
  );
  return ok({ operation: found.operation, params: { ...fromQuery(query), ...params } });
}

const NUMBERS: ReadonlySet<string> = new Set(["historyLength", "pageSize"]);

/** Numbers and booleans come as text; what is neither stays text, and is refused by its schema. */
function fromQuery(query: URLSearchParams): { readonly [name: string]: Json } {
  const entries = [...query].filter(([name]) => name !== VERSION_PARAM);
  return Object.fromEntries(
    entries.map(([name, text]): [string, Json] => {
      if (NUMBERS.has(name) && /^-?\d{1,15}$/.test(text)) return [name, Number(text)];
      if (name === "includeArtifacts" && /^(true|false)$/.test(text))
        return [name, text === "true"];
      return [name, text];
    }),
  );
}

function checkVersion(request: Request): A2aError | null {
  const asked =
    request.headers.get(VERSION_HEADER) ??
    new URL(request.url).searchParams.get(VERSION_PARAM) ??
    "";
  const version = asked.trim() === "" ? OLD_VERSION : asked.trim();
  // A patch does not count in negotiation.
  const [major, minor] = version.split(".");
  return `${major}.${minor}` === A2A_VERSION && /^\d+\.\d+(\.\d+)?$/.test(version)
    ? null
    : a2aError("VERSION_NOT_SUPPORTED");
}

/** An empty body is an empty object: some operations have nothing to say but their path. */
async function readBody(request: Request): Promise<Result<unknown, A2aError>> {
  const bytes = await readBytes(request, { maxBytes: MAX_JSON_BYTES, code: "body_too_large" });
  if (!bytes.ok) return err(toA2aError(bytes.error));
  if (bytes.value.byteLength === 0) return ok({});
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!/^application\/(a2a\+)?json$/.test(type))
    return err(a2aError("CONTENT_TYPE_NOT_SUPPORTED", "The body must be sent as application/json"));
  try {
    const text = fromUtf8(bytes.value);
    if (jsonDepth(text) > MAX_JSON_DEPTH) return err(a2aError("INVALID_REQUEST"));
    const value: unknown = JSON.parse(text);
    return ok(value);
  } catch {
    // The parser's own message quotes the body.
    return err(a2aError("PARSE"));
  }
}

function stream(
  { updates, close }: OpenUpdates,
  frame: { readonly update: (update: Json) => Json; readonly error: (error: A2aError) => Json },
): Response {
  const blocks = async function* (): AsyncGenerator<string, void, undefined> {
    for await (const update of updates) {
      // Each update is of the shapes in wire.ts, which are plain JSON.
      const value = "rpc" in update ? frame.error(update) : frame.update(update as unknown as Json);
      yield `data: ${JSON.stringify(value)}\n\n`;
    }
  };
  return new Response(toSse(blocks(), { left: close, cut: close }), { headers: SSE_HEADERS });
}

function rpc(value: Json): Response {
  return Response.json(value);
}

function refuse(error: A2aError): Response {
  return Response.json(toHttpError(error), httpOf(error));
}

function httpOf({ http, retryAfter }: A2aError): ResponseInit {
  const headers = retryAfter === null ? {} : { "retry-after": String(retryAfter) };
  return { status: http, headers };
}

function describe({ issues: [issue] }: ZodError): string {
  return `/${(issue?.path ?? []).map(String).join("/")}: ${issue?.message ?? "not valid"}`;
}

/** An answer to what is no request names the request's id where there is one. */
function idOf(value: unknown): RpcId {
  const id = isJsonObject(value) ? value["id"] : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
