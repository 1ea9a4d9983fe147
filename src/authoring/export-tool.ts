/**
 * exportTool, exportPlan: what an agent's MCP server offers as tools of its own (`exports` of defineAgent).
 *
 * P100 a call of an exported tool is a run whose steps a plan decides instead of a language model, so it crosses the same
 * gate: policy, approval, loop guard, budget, intent, outcome.
 */
import type { z } from "zod";
import type {
  ExportedTool,
  PlanRound,
  PlannedCall,
  PlanStep,
  TaskSupport,
} from "#ports/agent-exports.ts";
import type { Tool } from "#ports/tool.ts";
import type { JsonObject } from "#shared/json.ts";
import { fromZodObject } from "./argument-schema.ts";

interface ExportOptions {
  /** Default the tool's own. */
  readonly title?: string;
  readonly outputSchema?: JsonObject;
  /** Default `optional`: a client that can poll may get a task. */
  readonly tasks?: TaskSupport;
  /** Questions are put before the task begins, not by it. */
  readonly asksFirst?: boolean;
  /** Takes long: an older client is sent away at once, and comes back for the result. */
  readonly slow?: boolean;
  /** Scopes of a credential that a call needs besides those of every call. */
  readonly scopes?: readonly string[];
}

/** One of the agent's tools as it is: one call, and its result. */
export function exportTool(
  tool: Tool,
  options: ExportOptions & {
    /** Shown, and checked first, instead of the tool's own: where JSON Schema says more than zod does. */
    readonly inputSchema?: JsonObject;
  } = {},
): ExportedTool {
  const { name, description } = tool;
  const { inputSchema = tool.inputSchema } = options;
  return {
    ...toOptions(options),
    name,
    description,
    inputSchema,
    readOnly: tool.effect === "read" && tool.approval === "never",
    uses: [name],
    parse: (args) => tool.parse(args),
    next: (args, rounds) => (rounds.length === 0 ? call({ tool: name, args }) : done()),
  };
}

export interface PlanSpec<S extends z.ZodObject> extends ExportOptions {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  /** The agent's tools that it calls. */
  readonly uses: readonly Tool[];
  /** Pure: the same arguments and results give the same step, because a crash asks again. */
  next(args: z.output<S>, rounds: readonly PlanRound[]): PlanStep;
}

/** Several calls of the agent's tools in a fixed order, without a language model. */
export function exportPlan<S extends z.ZodObject>(spec: PlanSpec<S>): ExportedTool {
  const { name, description, input, uses } = spec;
  const { inputSchema, parse } = fromZodObject(input);
  return {
    ...toOptions(spec),
    name,
    description,
    inputSchema,
    readOnly: uses.every(({ effect, approval }) => effect === "read" && approval === "never"),
    uses: uses.map((tool) => tool.name),
    parse,
    // `parse` answered these arguments, so their type is the schema's output.
    next: (args, rounds) => spec.next(args as z.output<S>, rounds),
  };
}

export function call(...calls: readonly PlannedCall[]): PlanStep {
  return { type: "call", calls };
}

/** Without a text: what the last calls gave. */
export function done(text: string | null = null): PlanStep {
  return { type: "done", text };
}

function toOptions({ title, outputSchema, tasks, asksFirst, slow, scopes }: ExportOptions) {
  return {
    asksFirst: asksFirst ?? false,
    slow: slow ?? false,
    title: title ?? null,
    outputSchema: outputSchema ?? null,
    tasks: tasks ?? "optional",
    scopes: scopes ?? [],
  } as const;
}
