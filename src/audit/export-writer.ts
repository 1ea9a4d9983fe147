/**
 * Writes an audit export, line by line, in the memory of one page (H5, H6).
 *
 * The index of anchors is read before any log: an anchor is written after its event is durable, so a log that is shorter
 * than its anchor has lost its tail, however much it grows meanwhile.
 */
import type { AnchorIndex, AnchorStore } from "#ports/anchors.ts";
import type { AuditExport, ExportedLog, ExportScope, LogBounds } from "#ports/audit-export.ts";
import type { Clock } from "#ports/clock.ts";
import type { RawEvent } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { PublicKey, Signer } from "#ports/signing.ts";
import { digestInput, endMessage, FIRST_DIGEST, toLine, type ExportLine } from "./export-format.ts";
import { toJwk } from "./key-set.ts";

export interface ExportWriterDeps {
  readonly anchors: AnchorStore & AnchorIndex;
  /** Null where the deployment has no key: the file then says that nobody signed it. */
  readonly signer: Signer | null;
  readonly keys: readonly PublicKey[];
  readonly hasher: Hasher;
  readonly clock: Clock;
}

const PAGE = 200;

export class ExportWriter implements AuditExport {
  readonly #deps: ExportWriterDeps;

  constructor(deps: ExportWriterDeps) {
    this.#deps = deps;
  }

  async *lines(scope: ExportScope, logs: AsyncIterable<ExportedLog>): AsyncGenerator<string> {
    const { clock, hasher } = this.#deps;
    const tally = { logs: 0, events: 0, anchors: 0, digest: FIRST_DIGEST };
    for await (const line of this.#body(scope, logs)) {
      const text = toLine(line);
      tally.digest = hasher.sha256(digestInput(tally.digest, text));
      if (line.type === "log") tally.logs += 1;
      else if (line.type === "event") tally.events += 1;
      else if (line.type === "anchor") tally.anchors += 1;
      yield `${text}\n`;
    }
    const { signer } = this.#deps;
    const end = { ...tally, at: clock.now(), keyId: signer?.keyId ?? null };
    const signature = signer === null ? null : await signer.sign(endMessage(end));
    yield `${toLine({ type: "end", end: { ...end, signature } })}\n`;
  }

  async *#body(scope: ExportScope, logs: AsyncIterable<ExportedLog>): AsyncGenerator<ExportLine> {
    yield { type: "head", at: this.#deps.clock.now(), scope };
    for (const key of this.#deps.keys) yield { type: "key", jwk: toJwk(key) };
    yield* this.#index(scope);
    for await (const log of logs) yield* this.#log(scope.tenant, log);
  }

  async *#index({ tenant, agent, thread }: ExportScope): AsyncGenerator<ExportLine> {
    const { anchors } = this.#deps;
    if (agent !== null && thread !== null) {
      for (const anchor of await anchors.ofThread({ tenant, agent, thread }))
        yield { type: "index", anchor };
      return;
    }
    let after: string | null = null;
    do {
      const page = await anchors.logs({ tenant, after, limit: PAGE });
      for (const anchor of page) yield { type: "index", anchor };
      after = page.length < PAGE ? null : (page.at(-1)?.logId ?? null);
    } while (after !== null);
  }

  async *#log(tenant: string, log: ExportedLog): AsyncGenerator<ExportLine> {
    const { agent, thread } = log;
    const bounds = await log.bounds();
    const { base, head } = bounds;
    yield { type: "log", log: { ...bounds, tenant, agent, thread } };
    if (base.seq > 0) yield* this.#anchorsBetween(tenant, bounds, [base.seq, base.seq]);
    let at: number | null = base.seq;
    while (at !== null && at < head.seq) {
      const page = await log.page(at);
      const events = page.items.filter(({ seq }) => seq <= head.seq);
      const last = events.at(-1)?.seq ?? at;
      yield* this.#interleave(tenant, bounds, { events, range: [at + 1, last] });
      at = page.next;
    }
  }

  /** Each event, then the anchors of its seq. */
  async *#interleave(
    tenant: string,
    bounds: LogBounds,
    { events, range }: { readonly events: readonly RawEvent[]; readonly range: Range },
  ): AsyncGenerator<ExportLine> {
    const anchors = this.#anchorsBetween(tenant, bounds, range);
    let next = await anchors.next();
    for (const event of events) {
      yield { type: "event", event };
      while (next.done !== true && next.value.anchor.seq <= event.seq) {
        yield next.value;
        next = await anchors.next();
      }
    }
  }

  async *#anchorsBetween(
    tenant: string,
    { logId }: LogBounds,
    [from, to]: Range,
  ): AsyncGenerator<Extract<ExportLine, { readonly type: "index" | "anchor" }>> {
    let next = from;
    while (next <= to) {
      const range = { tenant, logId, from: next, to, limit: PAGE };
      const page = await this.#deps.anchors.list(range);
      for (const anchor of page) yield { type: "anchor", anchor };
      next = page.length < PAGE ? to + 1 : (page.at(-1)?.seq ?? to) + 1;
    }
  }
}

type Range = readonly [from: number, to: number];
