/**
 * One declaration per route: it documents the route, decodes its parts with the same schemas, checks the scope, and
 * only then calls the handler. There is no second path by which a request reaches a handler (P5).
 */
import type { OpenAPIHono, RouteConfig } from "@hono/zod-openapi";
import { z } from "@hono/zod-openapi";
import type { Failure } from "#ports/thread-gateway.ts";
import type { Principal, Scope } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { Result } from "#shared/result.ts";
import { hasScope } from "#auth/principal.ts";
import { err, ok } from "#shared/result.ts";
import type { BodyLimit } from "./body.ts";
import { MAX_JSON_BYTES, readJson } from "./body.ts";
import type { RestContext, RestEnv } from "./context.ts";
import { refuse } from "./context.ts";
import { parseFilePath, parseIdempotencyKey, parseWith } from "./decode.ts";
import { failure, rateLimited } from "./errors.ts";
import { IdempotencyKey, ProblemDoc } from "./wire.ts";

const JSON_LIMIT: BodyLimit = { maxBytes: MAX_JSON_BYTES, code: "body_too_large" };

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly method: "get" | "post" | "put" | "delete";
  /** OpenAPI form, relative to /v1. A trailing `{path}` takes the rest of the URL. */
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Null: any principal. */
  readonly scope: Scope | null;
  readonly params: P;
  readonly query: Q;
  /** JSON body. `optional` bodies may be absent and are then parsed from `{}`. */
  readonly body?: { readonly schema: B; readonly optional?: boolean; readonly limit?: BodyLimit };
  /** Media type of a body that the handler reads itself. */
  readonly rawBody?: string;
  readonly idempotent?: boolean;
  /** Counted against the runs of its principal, before its body is read (P41). */
  readonly startsRun?: boolean;
  readonly responses: RouteConfig["responses"];
  readonly handle: (
    call: RouteCall<z.output<P>, z.output<Q>, z.output<B>>,
  ) => Promise<Response> | Response;
}

export interface RouteCall<P, Q, B> {
  readonly c: RestContext;
  readonly principal: Principal;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly idempotencyKey: string | null;
}

/** Collects routes, so that each path can answer for the methods it lacks. */
export interface Router {
  readonly api: OpenAPIHono<RestEnv>;
  readonly methods: Map<string, Set<string>>;
  readonly limits: RateLimits;
}

export function addRoute<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType = z.ZodUndefined,
>(router: Router, spec: RouteSpec<P, Q, B>): void {
  router.api.openAPIRegistry.registerPath(toDocument(spec));
  const path = toPattern(spec.path);
  router.methods.set(path, (router.methods.get(path) ?? new Set()).add(spec.method.toUpperCase()));
  router.api.on(spec.method, path, async (c) => {
    c.set("route", `/v1${spec.path}`);
    const call = await decode(c, spec, router.limits);
    return call.ok ? spec.handle(call.value) : refuse(c, call.error);
  });
}

/** After all routes: other methods of known paths are 405, and OPTIONS tells which there are. */
export function closeRouter({ api, methods }: Router): void {
  for (const [path, known] of methods) {
    if (known.has("GET")) known.add("HEAD");
    const allow = [...known, "OPTIONS"].toSorted().join(", ");
    api.all(path, (c) => {
      if (c.req.method === "OPTIONS")
        return new Response(null, { status: 204, headers: { allow } });
      return refuse(c, failure("method_not_allowed", `Allowed here: ${allow}.`), {
        headers: { allow },
      });
    });
  }
}

async function decode<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  c: RestContext,
  spec: RouteSpec<P, Q, B>,
  limits: RateLimits,
): Promise<Result<RouteCall<z.output<P>, z.output<Q>, z.output<B>>, Failure>> {
  const principal = c.get("principal");
  if (principal === undefined) return err(failure("unauthenticated"));
  if (spec.scope !== null && !hasScope(principal, spec.scope)) {
    return err(failure("forbidden", `This needs the scope ${spec.scope}.`, { scope: spec.scope }));
  }
  // An id outside the alphabet names nothing, so it is missing and not malformed (Z5).
  const path = spec.path.endsWith("{path}") ? parseFilePath(c.req.url) : ok(undefined);
  if (!path.ok) return path;
  const params = spec.params.safeParse({ ...c.req.param(), path: path.value });
  if (!params.success) return err(failure("not_found"));
  const query = parseWith(spec.query, c.req.query(), "query");
  if (!query.ok) return query;
  const key =
    spec.idempotent === true ? parseIdempotencyKey(c.req.header("idempotency-key")) : ok(null);
  if (!key.ok) return key;
  const wait = spec.startsRun === true ? limits.take("run", principal) : null;
  if (wait !== null) return err(rateLimited(wait));
  const body = await decodeBody(c, spec);
  if (!body.ok) return body;
  return ok({
    c,
    principal,
    params: params.data,
    query: query.value,
    body: body.value,
    idempotencyKey: key.value,
  });
}

async function decodeBody<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  c: RestContext,
  { body }: RouteSpec<P, Q, B>,
): Promise<Result<z.output<B>, Failure>> {
  // No schema means B is `ZodUndefined`, whose one value this is.
  if (body === undefined) return ok(undefined as z.output<B>);
  if (body.optional === true && isEmpty(c.req.raw)) return parseWith(body.schema, {}, "body");
  const json = await readJson(c.req.raw, body.limit ?? JSON_LIMIT);
  return json.ok ? parseWith(body.schema, json.value, "body") : json;
}

function isEmpty(request: Request): boolean {
  return request.body === null || request.headers.get("content-length") === "0";
}

/** `/a/{b}/files/{path}` to `/a/:b/files/*`. */
function toPattern(path: string): string {
  return path.replace(/\{path\}$/, "*").replaceAll(/\{(\w+)\}/g, ":$1");
}

function toDocument<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  spec: RouteSpec<P, Q, B>,
): RouteConfig {
  const { body } = spec;
  return {
    method: spec.method,
    path: spec.path,
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    security: [{ bearer: spec.scope === null ? [] : [spec.scope] }],
    request: {
      // The registry asks for object schemas, and the type parameter is only as wide as zod itself.
      params: spec.params as unknown as z.ZodObject,
      query: spec.query as unknown as z.ZodObject,
      ...(spec.idempotent === true ? { headers: IDEMPOTENCY_HEADERS } : {}),
      ...(body === undefined
        ? {}
        : {
            body: {
              required: body.optional !== true,
              content: { "application/json": { schema: body.schema } },
            },
          }),
      ...(spec.rawBody === undefined
        ? {}
        : { body: { required: true, content: { [spec.rawBody]: { schema: BINARY } } } }),
    },
    responses: { ...spec.responses, default: PROBLEM_RESPONSE },
  };
}

const IDEMPOTENCY_HEADERS = z.object({ "idempotency-key": IdempotencyKey });
const BINARY = { type: "string", format: "binary" } as const;
export const PROBLEM_RESPONSE = {
  description: "Any failure (RFC 9457).",
  content: { "application/problem+json": { schema: ProblemDoc } },
};
