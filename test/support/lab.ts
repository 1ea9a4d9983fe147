/**
 * Lab: what a test inside workerd gives to the objects of its own isolate: agents, scripted models and a clock that moves.
 *
 * Lives in the isolate, not in the objects, so counts of what happened outside survive the crash of an object.
 */
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Clock } from "#ports/clock.ts";
import type { Model, ModelDirectory } from "#ports/model.ts";
import type { WebhookSender } from "#ports/webhook-sender.ts";
import type { Prices, RoutePrice } from "#ports/prices.ts";

class LabClock implements Clock {
  #offset = 0;

  now(): number {
    return Date.now() + this.#offset;
  }
  advance(ms: number): void {
    this.#offset += ms;
  }
}

export const lab = {
  clock: new LabClock(),
  agents: new Map<string, AgentDefinition>(),
  models: new Map<string, Model>(),
  /** Of routes of the lab; null for one whose price nobody knows. Without an entry they cost nothing. */
  prices: new Map<string, RoutePrice | null>(),
  hooks: DEFAULT_HOOKS,
  /** Budgets as in production, beside the other hooks of the lab. */
  leases: false,
  /** What another build of the code would expect of the storage; objects opened from now on are of that build. */
  build: {} as Partial<
    Pick<ThreadComposition, "catalogue" | "migrations" | "erasers" | "archive" | "audit">
  >,
  /** Takes what goes out to webhooks; null: the deployment's own, which goes nowhere from here. */
  sender: null as WebhookSender | null,
  /** Short, so that a wake by alarm is seen within a test. */
  heartbeatMs: 1_000,
  askAfterMs: 500,
};

/** Adds or replaces an agent: replacing one is what a deploy is to a live run. */
export function deploy(...agents: readonly AgentDefinition[]): void {
  for (const agent of agents) lab.agents.set(agent.manifest.name, agent);
}

export const LAB_MODELS: ModelDirectory = { resolve: (route) => lab.models.get(route) ?? null };

/** The deployment's own prices, and the lab's in place of what it does not know. */
export function labPrices(own: Prices): Prices {
  return {
    price: (route) => own.price(route) ?? labPrice(route),
    refresh: () => own.refresh?.() ?? null,
  };
}

const FREE: RoutePrice = { version: "lab", inputMicrosPerMillion: 0, outputMicrosPerMillion: 0 };

function labPrice(route: string): RoutePrice | null {
  const price = lab.prices.get(route);
  return price === undefined && lab.models.has(route) ? FREE : (price ?? null);
}
