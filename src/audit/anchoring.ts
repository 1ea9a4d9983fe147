/**
 * The outbox consumer that anchors a log: signs the heads that are due and writes them to both homes (H2, H3).
 *
 * It works behind the log, in the outbox's own time: a durable step does nothing for it. Deliveries repeat after a crash;
 * the places are the same, and what stands at one stays. An anchor that stands with another hash means that this log was
 * rewritten or rolled back since: it is reported and kept as the evidence it is.
 */
import type { Anchor, AnchorStore } from "#ports/anchors.ts";
import type { Clock } from "#ports/clock.ts";
import type { OutboxConsumer, StoredEvent } from "#ports/event-log.ts";
import type { Signer } from "#ports/signing.ts";
import { ANCHOR_EVERY, signAnchor } from "./anchor.ts";

export interface AnchoringDeps {
  readonly signer: Signer;
  readonly anchors: AnchorStore;
  /** The second home. */
  readonly copies: Pick<AnchorStore, "put">;
  readonly clock: Clock;
  readonly conflict: (anchor: Anchor) => void;
}
export interface AnchoredLog<M> {
  readonly logId: string;
  readonly tenant: string;
  readonly agent: string | null;
  readonly thread: string | null;
  /** Events after which the log's head is signed: a thread's ends of runs. */
  readonly after: ReadonlySet<keyof M & string>;
}

export function anchorsConsumer<M>(log: AnchoredLog<M>, deps: AnchoringDeps): OutboxConsumer<M> {
  const { signer, anchors: store, copies, clock } = deps;
  const { after, ...owner } = log;
  return {
    name: "anchors",
    required: true,
    async deliver(events) {
      const due = events.filter((event) => isDue(event, after));
      if (due.length === 0) return;
      const at = clock.now();
      const signed = await Promise.all(
        due.map(({ header, hash }) => signAnchor({ ...owner, seq: header.seq, hash, at }, signer)),
      );
      // The second home gets what the first holds, so that a delivery that was cut off between them leaves one answer.
      const standing = await store.put(signed);
      const copied = await copies.put(standing);
      for (const [index, { hash }] of signed.entries()) {
        const other = [standing[index], copied[index]].find((anchor) => anchor?.hash !== hash);
        if (other !== undefined) deps.conflict(other);
      }
    },
  };
}

function isDue<M>({ type, header }: StoredEvent<M>, after: ReadonlySet<string>): boolean {
  return after.has(type) || header.seq % ANCHOR_EVERY === 0;
}
