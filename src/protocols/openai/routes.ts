/**
 * Routes of the OpenAI API under `/openai/v1`: an agent is a model.
 *
 * P60 to P65. Everything is a command and a stream of a thread; nothing is kept here. A client that leaves a chat ends its
 * run, because nobody can come back to it; one that leaves a response does not.
 */
import { Hono, type Context } from "hono";
import type { Authenticate } from "#auth/authenticate.ts";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import type { Principal, Scope } from "#auth/principal.ts";
import { hasScope } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import type { Clock } from "#ports/clock.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import { MAX_JSON_BYTES, readJson } from "#protocols/rest/body.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { isAgentName, type AgentName } from "#shared/ids.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { z } from "zod";
import { errorResponse, invalid, toRefused, type Refused } from "./errors.ts";
import { answerChat } from "./serve-chat.ts";
import { listInputItems } from "./input-items.ts";
import { answerResponse, cancelResponse, readResponse } from "./serve-response.ts";
import { ChatBody, ResponseBody } from "./wire.ts";

export interface OpenAiDeps extends KnownAgents {
  readonly threads: ThreadAccess;
  readonly limits: RateLimits;
  readonly authenticate: Authenticate;
  readonly deferTo: (c: Context) => (work: Promise<void>) => void;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hasher: Hasher;
}
export interface OpenAiCall {
  readonly deps: OpenAiDeps;
  readonly principal: Principal;
  /** Null where the client sent none. */
  readonly idempotencyKey: string | null;
}
type Vars = { Variables: { openaiCaller: Principal } };

/** `heard` learns who asks for what, for the request's log line. */
export function createOpenAiApi(
  deps: OpenAiDeps,
  heard: (c: Context, request: { readonly principal: Principal; readonly route: string }) => void,
): Hono<Vars> {
  const api = new Hono<Vars>();
  api.use(async (c, next) => {
    const known = await deps.authenticate(c.req.header("authorization") ?? null, deps.deferTo(c));
    if (!known.ok) return errorResponse(toRefused(failure("unauthenticated")));
    heard(c, { principal: known.value, route: c.req.path.replace(/resp_[^/]*/, ":id") });
    c.set("openaiCaller", known.value);
    const wait = deps.limits.take("request", known.value);
    if (wait !== null) return refuseRate(wait);
    await next();
    return undefined;
  });
  api.get("/models", async (c) => {
    const names = deps.agents.map(({ manifest }) => manifest.name);
    return c.json({ object: "list", data: names.map((name) => toModel(name)) });
  });
  api.get("/models/:model", async (c) => {
    const agent = c.req.param("model");
    const known = await isAgent(deps, c.get("openaiCaller"), agent);
    return known ? c.json(toModel(agent)) : errorResponse(modelNotFound(agent));
  });
  api.post("/chat/completions", async (c) =>
    answer(await decode(c, deps, ChatBody), (call, body) => answerChat(call, body)),
  );
  api.post("/responses", async (c) =>
    answer(await decode(c, deps, ResponseBody), (call, body) => answerResponse(call, body)),
  );
  const callOf = (c: Context<Vars>): OpenAiCall => ({
    deps,
    principal: c.get("openaiCaller"),
    idempotencyKey: null,
  });
  api.get("/responses/:id", (c) => {
    const refused = missingScope(c.get("openaiCaller"), ["threads:read"]);
    return refused ?? readResponse(callOf(c), c.req.param("id"), c.req.query());
  });
  api.get("/responses/:id/input_items", (c) => {
    const refused = missingScope(c.get("openaiCaller"), ["threads:read"]);
    return refused ?? listInputItems(callOf(c), c.req.param("id"), c.req.query());
  });
  api.post("/responses/:id/cancel", (c) => {
    const refused = missingScope(c.get("openaiCaller"), ["threads:write", "threads:read"]);
    return refused ?? cancelResponse(callOf(c), c.req.param("id"));
  });
  api.notFound((c) =>
    errorResponse({
      ...toRefused(failure("not_found")),
      error: {
        ...toRefused(failure("not_found")).error,
        message: `${c.req.method} ${c.req.path} is not part of this server.`,
      },
    }),
  );
  api.onError(() => errorResponse(toRefused(failure("internal"))));
  return api;
}

function missingScope(principal: Principal, scopes: readonly Scope[]): Response | null {
  const missing = scopes.find((scope) => !hasScope(principal, scope));
  if (missing === undefined) return null;
  return errorResponse(toRefused(failure("forbidden", `This needs the scope ${missing}.`)));
}

interface Decoded<B> {
  readonly call: OpenAiCall;
  readonly body: B;
}

async function answer<B>(
  decoded: Result<Decoded<B>, Response>,
  serve: (call: OpenAiCall, body: B) => Promise<Response>,
): Promise<Response> {
  return decoded.ok ? serve(decoded.value.call, decoded.value.body) : decoded.error;
}

/** In the order of what costs least: scope, rate, body, agent. */
async function decode<S extends z.ZodType<{ readonly model: AgentName }>>(
  c: Context<Vars>,
  deps: OpenAiDeps,
  schema: S,
): Promise<Result<Decoded<z.output<S>>, Response>> {
  const principal = c.get("openaiCaller");
  // Both: its answer is what the thread holds.
  const refused = missingScope(principal, ["threads:write", "threads:read"]);
  if (refused !== null) return err(refused);
  const wait = deps.limits.take("run", principal);
  if (wait !== null) return err(refuseRate(wait));
  const json = await readJson(c.req.raw, { maxBytes: MAX_JSON_BYTES, code: "body_too_large" });
  if (!json.ok) return err(errorResponse(toRefused(json.error)));
  const parsed = schema.safeParse(json.value);
  if (!parsed.success) return err(errorResponse(toInvalid(parsed.error)));
  const body = parsed.data;
  if (!(await isAgent(deps, principal, body.model)))
    return err(errorResponse(modelNotFound(body.model)));
  const key = c.req.header("idempotency-key") ?? null;
  return ok({ call: { deps, principal, idempotencyKey: key }, body });
}

/** Names the field and what is wrong with it, and quotes nothing that was sent. */
function toInvalid(error: z.ZodError): Refused {
  const [issue] = error.issues;
  const param = issue?.path.map(String).join(".") ?? null;
  const known = param === "" ? null : param;
  return invalid(
    `${known ?? "The body"}: ${issue?.message ?? "not valid"}.`,
    known,
    "unsupported_value",
  );
}

function modelNotFound(agent: string): Refused {
  const message = `There is no agent ${agent.slice(0, 48)}. GET /openai/v1/models lists them.`;
  return {
    ...toRefused(failure("agent_unknown"), "model"),
    status: 404,
    error: { ...toRefused(failure("agent_unknown"), "model").error, message },
  };
}

function refuseRate(seconds: number): Response {
  const limited = rateLimited(seconds);
  return errorResponse(toRefused(limited), limited);
}

async function isAgent(deps: OpenAiDeps, { tenant }: Principal, agent: string): Promise<boolean> {
  return isAgentName(agent) && (await findAgent(deps, { tenant, agent })) !== null;
}

function toModel(name: string): object {
  return { id: name, object: "model", created: 0, owned_by: "holdfast" };
}
