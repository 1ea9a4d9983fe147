/**
 * ParkingHooks: gate hooks that count every place they are asked at and stay there for ever at the n-th, so that a crash
 * can fall exactly there inside workerd. Tools and models of a scenario call `point` too.
 */
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { GateHooks } from "#runner/gate-hooks.ts";

export class ParkingHooks {
  readonly passed: string[] = [];
  readonly #parkAt: number;
  parked: string | null = null;

  /** 0 never parks. */
  constructor(parkAt = 0) {
    this.#parkAt = parkAt;
  }

  async point(name: string): Promise<void> {
    this.passed.push(name);
    if (this.passed.length !== this.#parkAt) return;
    this.parked = name;
    await new Promise(() => undefined);
  }

  hooks(): GateHooks {
    const { policy, guardrail, loopGuard, budget } = DEFAULT_HOOKS;
    return {
      policy: {
        check: async (view) => {
          await this.point(`policy ${view.kind}`);
          return policy.check(view);
        },
      },
      guardrail: {
        ...guardrail,
        input: async (view) => {
          await this.point(`input ${view.kind}`);
          return guardrail.input(view);
        },
        toolOutput: async (view, text) => {
          await this.point("tool output");
          return guardrail.toolOutput(view, text);
        },
        modelText: async (view, text) => {
          await this.point("model text");
          return guardrail.modelText(view, text);
        },
      },
      loopGuard: {
        check: async (view) => {
          await this.point(`loop guard ${view.kind}`);
          return loopGuard.check(view);
        },
      },
      budget: {
        ...budget,
        reserve: async (view) => {
          await this.point(`budget ${view.kind}`);
          return budget.reserve(view);
        },
      },
    };
  }
}
