/** PromotedAgents over AgentVersions, remembered for at most a minute; see #ports/agent-versions.ts. */
import type {
  AgentKey,
  AgentVersion,
  AgentVersions,
  PromotedAgents,
} from "#ports/agent-versions.ts";
import type { Clock } from "#ports/clock.ts";
import { BoundedCache } from "#shared/bounded-cache.ts";

export const PROMOTED_TTL_MS = 60_000;
/** Short, so that an agent that was asked for just before it was stored works soon. */
const MISSING_TTL_MS = 5_000;
const CAPACITY = 1_000;

interface Known {
  readonly version: AgentVersion | null;
  readonly readAt: number;
}

export class CachedPromotedAgents implements PromotedAgents {
  readonly #versions: Pick<AgentVersions, "promoted">;
  readonly #clock: Clock;
  /** Apart, so that made-up names cannot push out agents that exist. */
  readonly #present = new BoundedCache<Known>(CAPACITY);
  readonly #missing = new BoundedCache<Known>(CAPACITY);

  constructor(versions: Pick<AgentVersions, "promoted">, clock: Clock) {
    this.#versions = versions;
    this.#clock = clock;
  }

  async get(key: AgentKey): Promise<AgentVersion | null> {
    const id = `${key.tenant}/${key.agent}`;
    const now = this.#clock.now();
    const present = this.#present.get(id);
    if (present !== undefined && now - present.readAt < PROMOTED_TTL_MS) return present.version;
    const missing = this.#missing.get(id);
    if (missing !== undefined && now - missing.readAt < MISSING_TTL_MS) return null;
    const version = await this.#versions.promoted(key);
    this.forget(key);
    // From when the read began: what it answered may have changed since then.
    (version === null ? this.#missing : this.#present).set(id, { version, readAt: now });
    return version;
  }

  forget({ tenant, agent }: AgentKey): void {
    this.#present.delete(`${tenant}/${agent}`);
    this.#missing.delete(`${tenant}/${agent}`);
  }
}
