/**
 * defineAgent: one file, one agent. The manifest is the data that a run is pinned to (K18); the tools execute it.
 */
import { z } from "zod";
import { canonicalJson, isJsonObject, utf8, type Json } from "#shared/json.ts";
import { isAgentName } from "#shared/ids.ts";
import type {
  AgentManifest,
  LoopLimits,
  RetryPolicy,
  RunLimits,
  ToolPin,
} from "#kernel/manifest.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { AgentExports } from "#ports/agent-exports.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { ModelSettings } from "#ports/model.ts";
import type { Tool } from "#ports/tool.ts";
import { RESERVED_EXPORTS } from "#ports/agent-exports.ts";
import {
  DEFAULT_CONTEXT_TOKENS,
  DEFAULT_MAX_REPAIRS,
  DEFAULT_MODEL_ROUTE,
  DEFAULT_RETRY,
  DEFAULT_RUN_LIMITS,
  DEFAULT_SETTINGS,
  MIN_LOOP_LIMIT,
} from "./defaults.ts";

import { toSchedules, type ScheduleSpecs } from "./define-schedules.ts";

export type { AgentDefinition };

/** An agent with what the compiler knows of it: a client's types come from here (P117). `types` is never there at run time. */
export interface TypedAgent<Tools extends Tool, Output> extends AgentDefinition {
  readonly types?: { readonly tools: Tools; readonly output: Output };
}

export interface AgentSpec<Tools extends readonly Tool[] = readonly Tool[], Output = Json> {
  /** Lower-case letters, digits and hyphens, at most 48. Part of every thread's name: never rename a deployed agent. */
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Default `default`: the deployment chooses. */
  readonly model?: string;
  /** Routes to go on with, in order, when the one before failed for good. */
  readonly fallbacks?: readonly string[];
  readonly tools: Tools;
  /** What an answer has to be, where a message asks for nothing else (P118). Default: text. */
  readonly output?: z.ZodType<Output>;
  readonly settings?: Partial<ModelSettings>;
  readonly limits?: Partial<RunLimits>;
  readonly retry?: Partial<RetryPolicy>;
  /** When the loop guard stops a run: default 5 equal calls, 3 rounds of a cycle, 8 calls that bring nothing new. */
  readonly loop?: Partial<LoopLimits>;
  /** Default 32,000 estimated tokens. */
  readonly contextTokens?: number;
  /** Default 2. */
  readonly maxRepairs?: number;
  /** Over A2A: whether a call that waits is answered with a message where the agent says words alone. Default `task`. */
  readonly replies?: "task" | "message";
  /** How much history its threads keep, where heads are signed; default all. What a thread still uses always stays. */
  readonly retention?: { readonly maxAgeDays?: number; readonly maxEvents?: number };
  /** What the agent does by itself, in each tenant's thread `main` once there is one; by name. Default nothing. */
  readonly schedules?: ScheduleSpecs;
  /** What its MCP server offers besides the conversation; default nothing. */
  readonly exports?: Partial<AgentExports>;
}

/** Throws TypeError on a definition that cannot run, so that a build fails and not a user's message. */
export function defineAgent<const Tools extends readonly Tool[], Output = null>(
  spec: AgentSpec<Tools, Output>,
): TypedAgent<Tools[number], Output> {
  if (!isAgentName(spec.name))
    throw new TypeError(
      `agent name ${JSON.stringify(spec.name)} must match ^[a-z0-9][a-z0-9-]{0,47}$`,
    );
  if (spec.instructions.trim() === "")
    throw new TypeError(`agent ${spec.name}: instructions are required`);
  const tools = new Map<string, Tool>();
  for (const tool of spec.tools) {
    if (tools.has(tool.name))
      throw new TypeError(`agent ${spec.name}: two tools are named ${tool.name}`);
    tools.set(tool.name, tool);
  }
  const manifest: AgentManifest = {
    name: spec.name,
    description: spec.description,
    instructions: spec.instructions,
    route: spec.model ?? DEFAULT_MODEL_ROUTE,
    // Absent rather than empty: the hash of an agent without fallbacks stays what it was.
    ...(spec.fallbacks === undefined || spec.fallbacks.length === 0
      ? {}
      : { fallbacks: spec.fallbacks }),
    settings: { ...DEFAULT_SETTINGS, ...spec.settings },
    contextTokens: spec.contextTokens ?? DEFAULT_CONTEXT_TOKENS,
    limits: { ...DEFAULT_RUN_LIMITS, ...spec.limits },
    retry: { ...DEFAULT_RETRY, ...spec.retry },
    tools: [...tools.values()].map(toToolPin),
    maxRepairs: spec.maxRepairs ?? DEFAULT_MAX_REPAIRS,
    ...(spec.loop === undefined ? {} : { loop: spec.loop }),
    ...(spec.replies === "message" ? { replies: spec.replies } : {}),
  };
  assertCounts(manifest);
  return {
    manifest,
    tools,
    ...toOutput(spec),
    ...toRetention(spec),
    ...toSchedules(spec),
    ...toExports(spec, tools),
  };
}

function toExports(
  { name, exports }: Pick<AgentSpec, "name" | "exports">,
  tools: ReadonlyMap<string, Tool>,
): Pick<AgentDefinition, "exports"> {
  if (exports === undefined) return {};
  const { tools: exported = [], prompts = [], resources = [] } = exports;
  for (const tool of exported) {
    if (RESERVED_EXPORTS.has(tool.name))
      throw new TypeError(
        `agent ${name}: every agent's MCP server has a tool ${tool.name} already`,
      );
    const missing = tool.uses.find((used) => !tools.has(used));
    if (missing !== undefined)
      throw new TypeError(`agent ${name}: it exports ${tool.name}, which uses no tool of its own`);
  }
  for (const names of [exported, prompts, resources].map((list) => list.map((one) => one.name))) {
    const twice = names.find((one, index) => names.indexOf(one) !== index);
    if (twice !== undefined) throw new TypeError(`agent ${name}: two exports are named ${twice}`);
  }
  return { exports: { tools: exported, prompts, resources } };
}

export function toToolPin(tool: Tool): ToolPin {
  const { name, description, version, inputSchema, effect, approval, limits } = tool;
  return { name, description, version, inputSchema, effect, approval, limits };
}

/** The definition hash of every event header of a run: SHA-256 over the canonical manifest. */
export function definitionHash(manifest: AgentManifest, hasher: Hasher): string {
  // A manifest is plain JSON by contract; interfaces merely lack the index signature that `Json` asks for.
  return hasher.sha256(utf8(canonicalJson(manifest as unknown as Json)));
}

/** Two tools with this digest accept the same arguments (T9). */
export function toolSchemaDigest(tool: Pick<ToolPin, "inputSchema">, hasher: Hasher): string {
  return hasher.sha256(utf8(canonicalJson(tool.inputSchema)));
}

/** The agent's own output, by the name that providers are told. */
const OUTPUT_NAME = "answer";

function toOutput<Output>({
  name,
  output,
}: AgentSpec<readonly Tool[], Output>): Pick<AgentDefinition, "output"> {
  if (output === undefined) return {};
  const { $schema: _, ...schema } = z.toJSONSchema(output);
  if (!isJsonObject(schema)) throw new TypeError(`agent ${name}: output has no JSON Schema`);
  return { output: { name: OUTPUT_NAME, schema } };
}

const DAY_MS = 86_400_000;

function toRetention<Output>({
  name,
  retention,
}: AgentSpec<readonly Tool[], Output>): Pick<AgentDefinition, "retention"> {
  if (retention === undefined) return {};
  const { maxAgeDays = null, maxEvents = null } = retention;
  for (const value of [maxAgeDays, maxEvents]) {
    if (value !== null && (!Number.isSafeInteger(value) || value < 1))
      throw new TypeError(`agent ${name}: retention is given in whole days and events, 1 or more`);
  }
  return { retention: { maxAgeMs: maxAgeDays === null ? null : maxAgeDays * DAY_MS, maxEvents } };
}

function assertCounts(manifest: AgentManifest): void {
  const { limits, retry, settings } = manifest;
  const atLeastOne = {
    ...limits,
    ...retry,
    contextTokens: manifest.contextTokens,
    maxOutputTokens: settings.maxOutputTokens,
  };
  for (const [name, value] of Object.entries(atLeastOne)) {
    if (value !== null && (!Number.isSafeInteger(value) || value < 1)) {
      throw new TypeError(`agent ${manifest.name}: ${name} must be a positive integer`);
    }
  }
  for (const [name, value] of Object.entries(manifest.loop ?? {})) {
    if (!Number.isSafeInteger(value) || value < MIN_LOOP_LIMIT)
      throw new TypeError(`agent ${manifest.name}: ${name} must be ${MIN_LOOP_LIMIT} or more`);
  }
  if (!Number.isSafeInteger(manifest.maxRepairs) || manifest.maxRepairs < 0) {
    throw new TypeError(`agent ${manifest.name}: maxRepairs must be 0 or more`);
  }
}
