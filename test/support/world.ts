/**
 * World: everything outside a thread that its tools touch, and what happened there. It outlives crashes, so a test can
 * say exactly how often each call took effect.
 */
import type { Tool, ToolContext, ToolEffect } from "#ports/tool.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { ok } from "#shared/result.ts";

export interface Execution {
  readonly tool: string;
  readonly key: string;
  readonly args: JsonObject;
  readonly attempt: number;
}
export type Behaviour = (args: JsonObject, context: ToolContext) => Promise<Json> | Json;

export class World {
  readonly executions: Execution[] = [];
  readonly checks: string[] = [];
  /** Results of reconcile tools by key: what their outside system knows. */
  readonly #ledger = new Map<string, Json>();
  readonly #latency: (tool: string) => Promise<void> | void;

  /** `latency` delays the answer of a call whose effect has already happened. */
  constructor(latency: (tool: string) => Promise<void> | void = () => undefined) {
    this.#latency = latency;
  }

  tool(
    name: string,
    effect: ToolEffect,
    behaviour: Behaviour = () => `${name} done`,
    overrides: Partial<Tool> = {},
  ): Tool {
    const tool: Tool = {
      name,
      description: `does ${name}`,
      version: "1",
      inputSchema: { type: "object" },
      effect,
      approval: "never",
      limits: { timeoutMs: 1_000, maxResultBytes: 4_096, maxCallsPerRun: 100 },
      parse: (args) => ok(args as JsonObject),
      execute: async (args, context) => {
        const { idempotencyKey: key, attempt } = context;
        this.executions.push({ tool: name, key, args, attempt });
        const happening = behaviour(args, context);
        // What happens at once is known outside at once, however long its answer takes to come back.
        if (!(happening instanceof Promise)) this.#ledger.set(key, happening);
        const result = await happening;
        this.#ledger.set(key, result);
        await this.#latency(name);
        return result;
      },
      ...overrides,
    };
    if (effect !== "reconcile") return tool;
    return {
      ...tool,
      check: async (key) => {
        this.checks.push(key);
        const result = this.#ledger.get(key);
        return result === undefined ? { happened: false } : { happened: true, result };
      },
    };
  }

  /** Executions per idempotency key, most first. */
  timesPerCall(tool: string): readonly number[] {
    const times = new Map<string, number>();
    for (const { key } of this.executions.filter((execution) => execution.tool === tool)) {
      times.set(key, (times.get(key) ?? 0) + 1);
    }
    return [...times.values()].toSorted((a, b) => b - a);
  }
}

export const hangUntilAborted: Behaviour = async (_args, context) =>
  new Promise((_, reject) => {
    const fail = (): void => reject(new Error("stopped"));
    if (context.signal.aborted) fail();
    else context.signal.addEventListener("abort", fail, { once: true });
  });
