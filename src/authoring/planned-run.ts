/**
 * Planned runs: how a call of an exported tool becomes a run (P100).
 *
 * The run is pinned to the agent's manifest with another route and only the tools that the plan names. The model of that
 * route asks the plan for the next step; everything else, from the gate to recovery, is as for a language model.
 */
import type { AgentManifest } from "#kernel/manifest.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { ExportedTool, PlanResult, PlanRound } from "#ports/agent-exports.ts";
import type { Model, ModelDirectory, ModelPart, ModelRequest } from "#ports/model.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";

/** `embedded/` routes cost nothing. */
const ROUTE = "embedded/plan/";
const USAGE = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

export interface PlannedRun {
  readonly definition: AgentDefinition;
  /** Of the message that begins the run: what is called, for whoever reads the transcript. */
  readonly text: string;
}

/** The agent as the run is pinned to, or why there is no such call. */
export function toPlannedRun(
  agent: AgentDefinition,
  { name, args }: { readonly name: string; readonly args: JsonObject },
): Result<PlannedRun, string> {
  const tool = findExport(agent, name);
  if (tool === null) return err(`The agent exports no tool named ${name}.`);
  const parsed = tool.parse(args);
  if (!parsed.ok)
    return err(
      `The arguments of ${name} do not fit: ${parsed.error.map(({ path, message }) => `${path}: ${message}`).join("; ")}`,
    );
  const { fallbacks: _, ...own } = agent.manifest;
  const manifest: AgentManifest = {
    ...own,
    route: `${ROUTE}${own.name}`,
    tools: own.tools.filter((pin) => tool.uses.includes(pin.name)),
  };
  const text = canonicalJson({ call: name, args: parsed.value });
  return ok({ definition: { manifest, tools: agent.tools }, text });
}

/** The models of a deployment, and the plans of its agents. */
export function withPlans(
  models: ModelDirectory,
  agents: ReadonlyMap<string, AgentDefinition>,
): ModelDirectory {
  return {
    resolve(route) {
      if (!route.startsWith(ROUTE)) return models.resolve(route);
      const agent = agents.get(route.slice(ROUTE.length));
      return agent === undefined ? null : new PlanModel(route, agent);
    },
  };
}

class PlanModel implements Model {
  readonly route: string;
  readonly #agent: AgentDefinition;

  constructor(route: string, agent: AgentDefinition) {
    this.route = route;
    this.#agent = agent;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelPart> {
    const from = request.messages.findLastIndex(({ role }) => role === "user");
    const called = parseCall(request.messages[from]);
    const tool = called === null ? null : findExport(this.#agent, called.name);
    if (called === null || tool === null) {
      yield failed("The plan of this call is no longer part of the agent.");
      return;
    }
    const rounds = toRounds(request.messages.slice(from + 1));
    const step = tool.next(called.args, rounds);
    if (step.type === "fail") {
      yield failed(step.message);
      return;
    }
    if (step.type === "done") {
      const text =
        step.text ??
        rounds
          .at(-1)
          ?.map((result) => result.text)
          .join("\n") ??
        "";
      yield { type: "text", text: text === "" ? "(nothing)" : text };
      yield { type: "finish", reason: "stop", raw: "plan", usage: USAGE };
      return;
    }
    for (const [index, { tool: name, args }] of step.calls.entries())
      yield {
        type: "call",
        providerCallId: `plan_${rounds.length}_${index}`,
        name,
        argsText: canonicalJson(args),
      };
    yield { type: "finish", reason: "tool_calls", raw: "plan", usage: USAGE };
  }
}

function failed(message: string): ModelPart {
  return {
    type: "error",
    code: "invalid_request",
    message,
    retryable: false,
    retryAfterMs: null,
    usage: null,
  };
}

function findExport({ exports }: AgentDefinition, name: string): ExportedTool | null {
  return exports?.tools.find((tool) => tool.name === name) ?? null;
}

type Message = ModelRequest["messages"][number];

function parseCall(message: Message | undefined): { name: string; args: JsonObject } | null {
  if (message?.role !== "user") return null;
  try {
    const called: Json = JSON.parse(message.content.map(({ text }) => text).join("")) as Json;
    if (!isJsonObject(called)) return null;
    const { call: name, args } = called;
    return typeof name === "string" && isJsonObject(args) ? { name, args } : null;
  } catch {
    return null;
  }
}

/** Results between two answers are of one round, in however many messages they stand. */
function toRounds(messages: readonly Message[]): readonly PlanRound[] {
  const rounds: PlanResult[][] = [];
  for (const message of messages) {
    if (message.role === "assistant") rounds.push([]);
    else if (message.role === "tool") rounds.at(-1)?.push(...message.content.map(toResult));
  }
  return rounds;
}

function toResult({ output, isError }: { output: string; isError: boolean }): PlanResult {
  return { ok: !isError, text: output };
}
