/** FlakyEraser: a store of content outside the object, that can be away, and says how often it was asked. */
import type { Eraser, ErasureScope } from "#ports/eraser.ts";

export class FlakyEraser implements Eraser {
  readonly store: string;
  /** What it holds: run of each thing, by thread. */
  readonly held = new Map<string, string[]>();
  /** How many of the next calls of `erase` fail. */
  failures = 0;
  /** While set, `erase` does not answer. */
  hangs = false;
  attempts = 0;

  constructor(store: string) {
    this.store = store;
  }

  put(scope: ErasureScope): void {
    const things = this.held.get(toKey(scope)) ?? [];
    this.held.set(toKey(scope), [...things, scope.runId ?? ""]);
  }

  count(scope: ErasureScope): Promise<number> {
    return Promise.resolve(this.#reached(scope).length);
  }

  async erase(scope: ErasureScope): Promise<void> {
    this.attempts += 1;
    while (this.hangs) await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error(`${this.store} is away`);
    }
    const reached = new Set(this.#reached(scope));
    const things = this.held.get(toKey(scope)) ?? [];
    this.held.set(
      toKey(scope),
      things.filter((thing) => !reached.has(thing)),
    );
  }

  #reached(scope: ErasureScope): readonly string[] {
    const things = this.held.get(toKey(scope)) ?? [];
    return scope.runId === null ? things : things.filter((thing) => thing === scope.runId);
  }
}

function toKey({ tenant, agent, thread }: ErasureScope): string {
  return `${tenant}/${agent}/${thread}`;
}
