/**
 * MemoryObject: the source of truth for the long-term facts of one scope.
 *
 * Declared in migration v1 and opening a log of the common format, so that memory can be added without a migration of
 * classes. It has no events of its own yet, and says so in its head.
 */
import { DurableObject } from "cloudflare:workers";
import type { EventLog, LogHead } from "#ports/event-log.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { openLog, openStorage } from "./object-storage.ts";

type MemoryEvents = Record<never, never>;

export class MemoryObject extends DurableObject {
  readonly #log: EventLog<MemoryEvents>;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#log = openLog<MemoryEvents>(openStorage(ctx.storage, OBJECT_MIGRATIONS), {
      catalogue: { name: "memory", versions: {}, upcast: (_type, _version, payload) => payload },
      defaults: {},
      projections: [],
    });
  }

  async head(): Promise<LogHead> {
    return this.#log.head();
  }
}
