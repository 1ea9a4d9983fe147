/**
 * Anchors: signed heads of logs, kept outside the objects that hold the logs, so that a cut tail, a rewritten chain or a
 * lost object shows.
 *
 * PERSISTED CONTRACT: what is signed is `anchorMessage` of #audit/anchor.ts.
 * Contract (suite: test/contracts/anchor-store.ts): what stands at (tenant, log, seq) is never replaced, whoever
 * delivers it again; reads of one tenant never see another's.
 */
export interface AnchorStatement {
  readonly logId: string;
  readonly tenant: string;
  /** Null for logs that are no thread's. */
  readonly agent: string | null;
  readonly thread: string | null;
  readonly seq: number;
  /** Hash of the event at `seq`. */
  readonly hash: string;
  /** Epoch ms of signing. */
  readonly at: number;
  readonly keyId: string;
}
export interface Anchor extends AnchorStatement {
  /** Ed25519, base64url without padding. */
  readonly signature: string;
}

export interface AnchorRange {
  readonly tenant: string;
  readonly logId: string;
  /** Inclusive. */
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

export interface AnchorStore {
  /** Adds those that are missing and answers what now stands at each place, in the order given. All are of one log. */
  put(anchors: readonly Anchor[]): Promise<readonly Anchor[]>;
  /** Ascending by seq. */
  list(range: AnchorRange): Promise<readonly Anchor[]>;
  /** The newest of a log at or below `atMost`: where pruning may end, because an export may begin there. */
  newest(
    log: Pick<AnchorRange, "tenant" | "logId"> & { readonly atMost: number },
  ): Promise<Anchor | null>;
}

/** Which logs a tenant has by its anchors: each log's newest one, ascending by log id. */
export interface AnchorIndex {
  logs(
    page: Pick<AnchorRange, "tenant" | "limit"> & { readonly after: string | null },
  ): Promise<readonly Anchor[]>;
  /** Newest anchor of each log that ever was this thread's; one, unless the object was lost and made anew. */
  ofThread(thread: {
    readonly tenant: string;
    readonly agent: string;
    readonly thread: string;
  }): Promise<readonly Anchor[]>;
}
