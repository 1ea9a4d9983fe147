/**
 * defineTool: a typed author's function made into the Tool port. Mistakes of a definition throw when the file loads,
 * never when a model calls.
 *
 * T1 `effect` has no default, because a wrong guess repeats a payment; `check` exists exactly for `reconcile`.
 */
import type { z } from "zod";
import type { ToolContent } from "#ports/content.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import type {
  Question,
  Tool,
  ToolApproval,
  ToolContext,
  ToolEffect,
  ToolLimits,
} from "#ports/tool.ts";
import { CALLER_VERSION } from "#shared/caller-version.ts";
import { fromJsonSchema, fromZodObject, type ArgumentSchema } from "./argument-schema.ts";
import { DEFAULT_TOOL_LIMITS, MIN_LOOP_LIMIT } from "./defaults.ts";

/** What every provider accepts as a function name. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const EFFECTS: ReadonlySet<string> = new Set<ToolEffect>([
  "read",
  "idempotent",
  "reconcile",
  "once",
]);
const APPROVALS: ReadonlySet<string> = new Set<ToolApproval>(["never", "always", "question"]);

export type CheckAnswer = Awaited<ReturnType<NonNullable<Tool["check"]>>>;
/**
 * What the compiler knows of a tool beside the port: a client that is given an agent's type names its tools and their
 * arguments by it (P117). `types` is never there at run time.
 */
export interface TypedTool<Name extends string, Args> extends Tool {
  readonly name: Name;
  readonly types?: { readonly args: Args };
}

type Check<Args> = (key: string, args: Args, context: ToolContext) => Promise<CheckAnswer>;

/** `reconcile` and `check` come together or not at all. */
export type EffectDeclaration<Args> =
  | { readonly effect: "reconcile"; readonly check: Check<Args> }
  | { readonly effect: Exclude<ToolEffect, "reconcile">; readonly check?: never };

interface ToolOptions<Args> {
  readonly name: string;
  /** For the model: what it does, when to use it, what it answers. */
  readonly description: string;
  /** Raise it when behaviour changes: runs that pinned the older version are told `tool_unavailable` (T9). */
  readonly version: string;
  /** Default `never`. `always` waits for a person before each call; `question` asks a person, and needs `question`. */
  readonly approval?: ToolApproval;
  /** For approval `question`: what the person is shown. `execute` returns what came back, as `approval.answer`. */
  question?(args: Args): Question;
  readonly limits?: Partial<ToolLimits>;
  /** Throw AppError for a reason the model should see; its code is kept. */
  execute(args: Args, context: ToolContext): Promise<Json | ToolContent> | Json | ToolContent;
}

export type ToolSpec<S extends z.ZodObject, Name extends string = string> = ToolOptions<
  z.output<S>
> &
  EffectDeclaration<z.output<S>> & { readonly input: S; readonly name: Name };
export type JsonToolSpec = ToolOptions<JsonObject> &
  EffectDeclaration<JsonObject> & { readonly inputSchema: JsonObject };

export function defineTool<S extends z.ZodObject, const Name extends string>(
  spec: ToolSpec<S, Name>,
): TypedTool<Name, z.output<S>> {
  // What reaches `execute` is what `parse` answered, so its type is the schema's output.
  const tool = toTool(spec as unknown as ErasedSpec, () => fromZodObject(spec.input));
  return { ...tool, name: spec.name };
}

/** For tools that only have a JSON Schema, such as those of a remote server. */
export function defineToolFromJsonSchema(spec: JsonToolSpec): Tool {
  return toTool(spec, () => fromJsonSchema(spec.inputSchema));
}

/** For a function that whoever sends a message carries out; only this may have the version that says so. */
export function defineCallerTool(spec: Omit<JsonToolSpec, "version">): Tool {
  const { inputSchema } = spec;
  return {
    ...defineToolFromJsonSchema({ ...spec, version: "1" } as JsonToolSpec),
    inputSchema,
    version: CALLER_VERSION,
  };
}

type ErasedSpec = ToolOptions<JsonObject> & EffectDeclaration<JsonObject>;

function toTool(spec: ErasedSpec, compile: () => ArgumentSchema): Tool {
  assertDefinition(spec);
  const { inputSchema, parse } = compileSchema(spec.name, compile);
  const tool: Tool = {
    name: spec.name,
    description: spec.description,
    version: spec.version,
    inputSchema,
    effect: spec.effect,
    approval: spec.approval ?? "never",
    limits: { ...DEFAULT_TOOL_LIMITS, ...spec.limits },
    parse,
    execute: async (args, context) => spec.execute(args, context),
  };
  const { question } = spec;
  const asking = question === undefined ? tool : { ...tool, question };
  return spec.effect === "reconcile" ? { ...asking, check: spec.check } : asking;
}

function compileSchema(name: string, compile: () => ArgumentSchema): ArgumentSchema {
  try {
    return compile();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(
      `tool ${name}: arguments must be plain JSON on both sides of parsing: ${reason}`,
      { cause },
    );
  }
}

/** The same checks as the types, for callers in JavaScript. */
function assertDefinition(spec: ErasedSpec): void {
  const refuse = (reason: string): never => {
    throw new TypeError(`tool ${JSON.stringify(spec.name)}: ${reason}`);
  };
  if (!TOOL_NAME.test(spec.name)) refuse("the name must match ^[a-zA-Z0-9_-]{1,64}$");
  if (spec.description.trim() === "") refuse("a description is required, the model chooses by it");
  if (spec.version === CALLER_VERSION) refuse(`the version ${CALLER_VERSION} is reserved`);
  if (spec.version.trim() === "") refuse("a version is required, runs are pinned to it");
  if (!EFFECTS.has(spec.effect)) refuse("effect must be read, idempotent, reconcile or once");
  if (spec.approval !== undefined && !APPROVALS.has(spec.approval))
    refuse("approval must be never, always or question");
  if ((spec.approval === "question") !== (typeof spec.question === "function"))
    refuse("question is required for approval question and for no other");
  if ((spec.effect === "reconcile") !== (typeof spec.check === "function")) {
    refuse("check is required for effect reconcile and for no other");
  }
  for (const [limit, value] of Object.entries(spec.limits ?? {})) {
    if (!Number.isSafeInteger(value) || value < 1)
      refuse(`limit ${limit} must be a positive integer`);
  }
  if ((spec.limits?.maxRepeats ?? MIN_LOOP_LIMIT) < MIN_LOOP_LIMIT)
    refuse(`limit maxRepeats must be ${MIN_LOOP_LIMIT} or more`);
}
