/**
 * Agents that are stored as data: from a spec and the registered tools to a manifest, and back to what can run.
 *
 * P43 a stored agent has no code of its own: its tools are tools of this deployment's agents, and it cannot loosen what
 * they demand. P44 a version is what its hash says, or it does not run.
 */
import type { AgentManifest, ToolPin } from "#kernel/manifest.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type {
  AgentBuilder,
  AgentVersion,
  SpecIssue,
  StoredAgentSpec,
} from "#ports/agent-versions.ts";
import type { Cron } from "#ports/cron.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Tool } from "#ports/tool.ts";
import { canonicalJson, utf8, type Json } from "#shared/json.ts";
import { toJsonPointer } from "#shared/json-pointer.ts";
import { err, ok } from "#shared/result.ts";
import { findScheduleIssues, pinSchedules } from "./define-schedules.ts";
import { DEFAULT_MODEL_ROUTE } from "./defaults.ts";
import { defineAgent, definitionHash, toolSchemaDigest } from "./define-agent.ts";

export interface BuilderDeps {
  readonly tools: ReadonlyMap<string, Tool>;
  /** What `default` is in this deployment; a version pins the route itself (K18). */
  readonly defaultRoute: string;
  readonly hasher: Hasher;
  readonly cron: Cron;
}

/** By name. A name that two agents give to different tools means neither. */
export function registeredTools(agents: Iterable<AgentDefinition>): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  const ambiguous = new Set<string>();
  for (const agent of agents) {
    for (const [name, tool] of agent.tools) {
      const known = tools.get(name);
      if (known !== undefined && known !== tool) ambiguous.add(name);
      tools.set(name, tool);
    }
  }
  for (const name of ambiguous) tools.delete(name);
  return tools;
}

export function createAgentBuilder(deps: BuilderDeps): AgentBuilder {
  return {
    build(spec) {
      const issues = [...checkTools(spec, deps.tools), ...checkSchedules(spec, deps.cron)];
      if (issues.length > 0) return err(issues);
      const manifest = toManifest(spec, deps);
      const definition = definitionHash(manifest, deps.hasher);
      const bytes = utf8(canonicalJson(manifest as unknown as Json)).byteLength;
      return ok({ manifest, definition, bytes });
    },
    check: (version) => checkVersion(version, deps),
  };
}

/** What new runs begin with, or null when this deployment cannot run it as it is pinned. */
export function toDefinition(
  version: Pick<AgentVersion, "manifest" | "definition">,
  deps: Pick<BuilderDeps, "tools" | "hasher">,
): AgentDefinition | null {
  if (checkVersion(version, deps).length > 0) return null;
  const { manifest } = version;
  const tools = manifest.tools.flatMap(({ name }) => {
    const tool = deps.tools.get(name);
    return tool === undefined ? [] : [[name, tool] as const];
  });
  const { schedules } = manifest;
  return { manifest, tools: new Map(tools), ...(schedules === undefined ? {} : { schedules }) };
}

function checkTools(spec: StoredAgentSpec, tools: BuilderDeps["tools"]): readonly SpecIssue[] {
  const names = new Set(spec.tools);
  const unknown = spec.tools.flatMap((name, index) =>
    tools.has(name)
      ? []
      : [{ path: `/tools/${index}`, message: "not a registered tool, or more than one" }],
  );
  const repeated = names.size === spec.tools.length ? [] : [REPEATED];
  const overrides = Object.keys(spec.approvals ?? {}).flatMap((name) => {
    const path = toJsonPointer(["approvals", name]);
    if (!names.has(name)) return [{ path, message: "not a tool of this agent" }];
    const isQuestion = tools.get(name)?.approval === "question";
    return isQuestion ? [{ path, message: "a question to a person needs no approval" }] : [];
  });
  return [...unknown, ...repeated, ...overrides];
}

/** As for an agent's file, and what a file's are checked for when they are declared. */
function checkSchedules(
  { schedules = {} }: Pick<StoredAgentSpec, "schedules">,
  cron: Cron,
): readonly SpecIssue[] {
  const issues = findScheduleIssues(schedules);
  const faults = pinSchedules(schedules).flatMap(({ scheduleId, rule }) => {
    const message = rule.type === "cron" ? cron.fault(rule) : null;
    return message === null ? [] : [{ schedule: scheduleId, message }];
  });
  return [...issues, ...faults].map(({ schedule, message }) => ({
    path: toJsonPointer(["schedules", schedule]),
    message,
  }));
}

const REPEATED: SpecIssue = { path: "/tools", message: "a tool is named twice" };

function toManifest(spec: StoredAgentSpec, deps: BuilderDeps): AgentManifest {
  const routeOf = (route: string): string =>
    route === DEFAULT_MODEL_ROUTE ? deps.defaultRoute : route;
  const { name, description, instructions, contextTokens, maxRepairs, approvals = {} } = spec;
  const { manifest } = defineAgent({
    name,
    description,
    instructions,
    model: routeOf(spec.route ?? DEFAULT_MODEL_ROUTE),
    fallbacks: (spec.fallbacks ?? []).map(routeOf),
    tools: spec.tools.flatMap((tool) => deps.tools.get(tool) ?? []),
    settings: given(spec.settings),
    limits: given(spec.limits),
    retry: given(spec.retry),
    ...(spec.loop === undefined ? {} : { loop: given(spec.loop) }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(maxRepairs === undefined ? {} : { maxRepairs }),
  });
  const tools = manifest.tools.map((pin): ToolPin =>
    Object.hasOwn(approvals, pin.name) ? { ...pin, approval: "always" } : pin,
  );
  const schedules = pinSchedules(spec.schedules ?? {}).toSorted((a, b) =>
    a.scheduleId < b.scheduleId ? -1 : 1,
  );
  return { ...manifest, tools, ...(schedules.length === 0 ? {} : { schedules }) };
}

/** Without what is absent, so that it cannot take the place of a default. */
function given<T extends object>(
  values: T | undefined,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(values ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function checkVersion(
  { manifest, definition }: Pick<AgentVersion, "manifest" | "definition">,
  { tools, hasher }: Pick<BuilderDeps, "tools" | "hasher">,
): readonly SpecIssue[] {
  if (definitionHash(manifest, hasher) !== definition) {
    return [{ path: "", message: "the stored manifest is not what its hash says" }];
  }
  return manifest.tools.flatMap((pin, index) => {
    const message = differenceOf(pin, tools.get(pin.name), hasher);
    return message === null ? [] : [{ path: `/tools/${index}`, message: `${pin.name} ${message}` }];
  });
}

function differenceOf(pin: ToolPin, tool: Tool | undefined, hasher: Hasher): string | null {
  if (tool === undefined) return "is not registered any more";
  if (
    tool.version !== pin.version ||
    tool.effect !== pin.effect ||
    toolSchemaDigest(tool, hasher) !== toolSchemaDigest(pin, hasher)
  ) {
    return "has changed; store a new version";
  }
  const isLoose = tool.approval !== "never" && pin.approval !== tool.approval;
  return isLoose ? "demands a person now; store a new version" : null;
}
