/** What a chained log is opened with, whatever it lies in. */
import type {
  Catalogue,
  EventScope,
  PayloadCodec,
  Projection,
  ReadOnlyReason,
} from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";

export interface ChainedLogOptions<M> {
  readonly catalogue: Catalogue<M>;
  readonly hasher: Hasher;
  readonly ids: Ids;
  readonly codec: PayloadCodec;
  readonly projections?: readonly Projection<M>[];
  /** Header fields of every event, unless its draft says otherwise: tenant, agent, thread. */
  readonly defaults?: EventScope;
  /** Id of a new log; minted when not given. A log that exists keeps its own. */
  readonly logId?: string;
  /** Opens for reading only, e.g. after a failed migration. */
  readonly readOnly?: { readonly reason: ReadOnlyReason; readonly message: string };
}
