/**
 * CrashBoundary: dies at the n-th crossing of the gate. From then on every crossing throws, as nothing of a dead process
 * goes on; without a target it only writes down what was crossed.
 */
import type { Boundary, CrossingPoint } from "#runner/gate-hooks.ts";

export class Crash extends Error {
  constructor(point: CrossingPoint) {
    super(`crashed at ${point}`);
  }
}

export class CrashBoundary implements Boundary {
  readonly crossed: string[] = [];
  readonly #target: number;
  crashedAt: { readonly point: CrossingPoint; readonly effectId: string } | null = null;

  /** 0 never crashes. */
  constructor(target: number = 0) {
    this.#target = target;
  }

  cross(point: CrossingPoint, effectId: string): void {
    if (this.crashedAt !== null) throw new Crash(this.crashedAt.point);
    this.crossed.push(point);
    if (this.crossed.length !== this.#target) return;
    this.crashedAt = { point, effectId };
    throw new Crash(point);
  }
}
