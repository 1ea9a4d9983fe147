/**
 * Agents over REST: versions that are stored as data, beside the agents of the code (P43 to P48).
 *
 * A version is immutable and named by its hash, so storing it again is the same version and no key is needed. Whoever
 * manages versions may read instructions, so users are refused whatever their scopes.
 */
import type { Principal } from "#auth/principal.ts";
import type { AgentVersion, StoredAgentSpec, VersionKey } from "#ports/agent-versions.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import type { AgentName } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import { answer, refuse, type AgentEntry, type RestDeps } from "./context.ts";
import { parseVersionPosition } from "./decode.ts";
import { diffManifests } from "./diff-manifests.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { AgentParams, NoParams, NoQuery } from "./wire.ts";
import {
  DiffDoc,
  DiffQuery,
  MAX_MANIFEST_BYTES,
  StoreAgentBody,
  VersionDoc,
  VersionListDoc,
  VersionParams,
  VersionsQuery,
} from "./wire-agents.ts";

const BASE = "/agents/{agent}/versions";
const shared = { tag: "agents", scope: "agents:write" } as const;
const LIMIT = { maxBytes: MAX_MANIFEST_BYTES, code: "body_too_large" } as const;

export function addAgentVersionRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    ...shared,
    method: "post",
    path: "/agents",
    id: "storeAgent",
    summary: "Store a version of an agent; new runs begin with it once it is promoted",
    params: NoParams,
    query: NoQuery,
    body: { schema: StoreAgentBody, limit: LIMIT },
    responses: json(201, VersionDoc, "Stored, or there already."),
    handle: async ({ c, principal, body }) => {
      const stored = await store(deps, principal, body);
      if (!stored.ok) return refuse(c, stored.error);
      const { agent, definition } = stored.value;
      const location = `/v1/agents/${agent}/versions/${definition}`;
      return Response.json(encode(stored.value), { status: 201, headers: { location } });
    },
  });
  addListRoute(router, deps);
  addVersionRoutes(router, deps);
  addChangeRoute(router, deps, "promote");
  addChangeRoute(router, deps, "retire");
}

function addListRoute(router: Router, deps: RestDeps): void {
  addRoute(router, {
    ...shared,
    method: "get",
    path: BASE,
    id: "listAgentVersions",
    summary: "List the versions of an agent, newest first",
    params: AgentParams,
    query: VersionsQuery,
    responses: json(200, VersionListDoc),
    handle: async ({ c, principal, params, query }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const after = query.after === undefined ? ok(null) : parseVersionPosition(query.after);
      if (!after.ok) return refuse(c, after.error);
      const code = findCode(deps, params.agent);
      if (code !== null) return Response.json({ items: [summarise(encodeCode(code))], next: null });
      const { tenant } = principal;
      const { limit } = query;
      const key = { tenant, agent: params.agent };
      const items = await deps.versions.list({ ...key, after: after.value, limit });
      if (items.length === 0 && after.value === null) return refuse(c, failure("agent_unknown"));
      const last = items.length === limit ? items.at(-1) : undefined;
      return Response.json({
        items: items.map((version) => summarise(encode(version))),
        next: last === undefined ? null : `${last.createdAt}.${last.definition}`,
      });
    },
  });
}

function addVersionRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    ...shared,
    method: "get",
    path: `${BASE}/{definition}`,
    id: "getAgentVersion",
    summary: "Get a version with its manifest",
    params: VersionParams,
    query: NoQuery,
    responses: json(200, VersionDoc),
    handle: async ({ c, principal, params }) =>
      answer(c, await find(deps, principal, params), (version) => version),
  });
  addRoute(router, {
    ...shared,
    method: "get",
    path: "/agents/{agent}/diff",
    id: "diffAgentVersions",
    summary: "Compare two versions field by field",
    params: AgentParams,
    query: DiffQuery,
    responses: json(200, DiffDoc),
    handle: async ({ c, principal, params, query }) => {
      const { agent } = params;
      const [before, after] = await Promise.all(
        [query.from, query.to].map((definition) => find(deps, principal, { agent, definition })),
      );
      if (before === undefined || after === undefined) return refuse(c, failure("not_found"));
      if (!before.ok) return refuse(c, before.error);
      if (!after.ok) return refuse(c, after.error);
      const changes = diffManifests(before.value.manifest, after.value.manifest);
      return Response.json({ agent, ...query, changes });
    },
  });
}

function addChangeRoute(router: Router, deps: RestDeps, change: "promote" | "retire"): void {
  const isPromotion = change === "promote";
  addRoute(router, {
    ...shared,
    method: "post",
    path: `${BASE}/{definition}/${change}`,
    id: isPromotion ? "promoteAgentVersion" : "retireAgentVersion",
    summary: isPromotion
      ? "Let new runs begin with this version, everywhere within 60 s; live runs keep theirs"
      : "Let no new run begin with this version, everywhere within 60 s; live runs end with it",
    params: VersionParams,
    query: NoQuery,
    responses: json(200, VersionDoc),
    handle: async ({ c, principal, params }) => {
      const allowed = checkStored(deps, principal, params.agent);
      if (!allowed.ok) return refuse(c, allowed.error);
      const key = { tenant: principal.tenant, ...params };
      const changed = await (isPromotion ? promote(deps, key) : retire(deps, key));
      deps.promoted.forget(key);
      return answer(c, changed, encode);
    },
  });
}

async function store(
  deps: RestDeps,
  principal: Principal,
  spec: StoredAgentSpec,
): Promise<Reply<AgentVersion>> {
  const allowed = checkStored(deps, principal, spec.name);
  if (!allowed.ok) return allowed;
  const built = deps.builder.build(spec);
  if (!built.ok) {
    const issues = built.error.map(({ path, message }) => ({ path, message }));
    return err(failure("invalid_request", "The agent cannot run here.", { issues }));
  }
  const { manifest, definition, bytes } = built.value;
  if (bytes > MAX_MANIFEST_BYTES) {
    const message = `The manifest with its tools is larger than ${MAX_MANIFEST_BYTES} bytes.`;
    return err(failure("body_too_large", message, { maxBytes: MAX_MANIFEST_BYTES }));
  }
  const { tenant, id: createdBy } = principal;
  const createdAt = deps.clock.now();
  const key = { tenant, agent: spec.name, definition };
  return ok(await deps.versions.store({ ...key, manifest, createdAt, createdBy }));
}

async function promote(deps: RestDeps, key: VersionKey): Promise<Reply<AgentVersion>> {
  const version = await deps.versions.get(key);
  if (version === null) return err(failure("not_found"));
  const issues = deps.builder.check(version).map(({ path, message }) => ({ path, message }));
  if (issues.length > 0) {
    const message = "This version's tools are not those of this deployment. Store a new one.";
    return err(failure("definition_unavailable", message, { issues }));
  }
  await deps.versions.promote(key, deps.clock.now());
  const promoted = await deps.versions.get(key);
  // Asked of the record, because it may have been retired in between.
  if (promoted === null || promoted.retiredAt !== null) {
    return err(failure("conflict", "This version is retired."));
  }
  return ok(promoted);
}

async function retire(deps: RestDeps, key: VersionKey): Promise<Reply<AgentVersion>> {
  await deps.versions.retire(key, deps.clock.now());
  const retired = await deps.versions.get(key);
  return retired === null ? err(failure("not_found")) : ok(retired);
}

async function find(
  deps: RestDeps,
  principal: Principal,
  { agent, definition }: Pick<VersionKey, "agent" | "definition">,
): Promise<Reply<EncodedVersion>> {
  const allowed = checkKind(principal);
  if (!allowed.ok) return allowed;
  const code = findCode(deps, agent);
  if (code !== null) {
    return code.definition === definition ? ok(encodeCode(code)) : err(failure("not_found"));
  }
  const version = await deps.versions.get({ tenant: principal.tenant, agent, definition });
  return version === null ? err(failure("not_found")) : ok(encode(version));
}

function checkKind({ kind }: Principal): Reply<null> {
  return kind === "user" ? err(failure("forbidden", "Users do not manage agents.")) : ok(null);
}

function checkStored(deps: RestDeps, principal: Principal, name: AgentName): Reply<null> {
  if (findCode(deps, name) === null) return checkKind(principal);
  return err(failure("conflict", "An agent of this deployment's code has this name."));
}

function findCode({ agents }: RestDeps, name: string): AgentEntry | null {
  return agents.find(({ manifest }) => manifest.name === name) ?? null;
}

function encode({ tenant: _tenant, ...version }: AgentVersion) {
  return { ...version, source: "stored" as const };
}

function encodeCode({ manifest, definition }: AgentEntry) {
  const times = { createdAt: null, createdBy: null, promotedAt: null, retiredAt: null };
  return { agent: manifest.name, definition, manifest, source: "code" as const, ...times };
}
type EncodedVersion = ReturnType<typeof encode> | ReturnType<typeof encodeCode>;

function summarise({ manifest: _manifest, ...summary }: EncodedVersion) {
  return summary;
}
