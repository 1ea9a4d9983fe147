/**
 * Caller tools: functions that whoever sends a message brings along and carries out itself (P60).
 *
 * They live in the pinned manifest of the one run that they came with, so they survive every crash and deploy with it. A
 * call waits, durably, for the caller's result, by the same means as a question to a person (A4); what runs here only hands
 * a recorded answer on. They stand beside the agent's own tools and never in the place of one.
 */
import type { AgentManifest, ToolPin } from "#kernel/manifest.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { CallerTool, RunExtras } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import { CALLER_VERSION } from "#shared/caller-version.ts";
import { AppError } from "#shared/errors.ts";
import { canonicalJson } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { toToolPin } from "./define-agent.ts";
import { defineCallerTool } from "./define-tool.ts";

const DAY_MS = 86_400_000;
export const MAX_CALLER_TOOLS = 128;

/** The agent with what the caller adds to it, or why that cannot be. */
export function withExtras(
  agent: AgentDefinition,
  { tools, instructions }: RunExtras,
): Result<AgentDefinition, string> {
  const pins = new Map<string, ToolPin>();
  if (tools.length > MAX_CALLER_TOOLS)
    return err(`At most ${MAX_CALLER_TOOLS} tools may be brought.`);
  for (const tool of tools) {
    if (agent.tools.has(tool.name)) return err(`The agent has a tool named ${tool.name} itself.`);
    if (pins.has(tool.name)) return err(`Two tools are named ${tool.name}.`);
    try {
      pins.set(tool.name, toToolPin(toTool(tool)));
    } catch (error) {
      return err(error instanceof Error ? error.message : "A tool cannot be used.");
    }
  }
  const manifest: AgentManifest = {
    ...agent.manifest,
    instructions: [agent.manifest.instructions, instructions ?? ""].join("\n\n").trim(),
    tools: [...agent.manifest.tools, ...pins.values()],
  };
  return ok({ ...agent, manifest });
}

export function isCallerPin({ version }: ToolPin): boolean {
  return version === CALLER_VERSION;
}

const known = new WeakMap<ToolPin, Tool>();

/** What executes a pinned caller tool: nothing but the handing on of what the caller answered. */
export function callerTool(pin: ToolPin): Tool {
  const made = known.get(pin) ?? toTool(pin);
  known.set(pin, made);
  return made;
}

function toTool({ name, description, inputSchema }: CallerTool): Tool {
  return defineCallerTool({
    name,
    description: description.trim() === "" ? name : description,
    inputSchema,
    effect: "read",
    approval: "question",
    limits: { approvalTimeoutMs: DAY_MS },
    question: (args) => ({
      text: `Carry out ${name} with ${canonicalJson(args)} and give its result.`,
      answerSchema: {},
    }),
    execute: (_args, { approval }) => {
      if (approval === null) throw new AppError("internal", "No caller was asked.");
      return approval.answer;
    },
  });
}
