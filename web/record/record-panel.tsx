/** What is on record of a conversation: what it cost, whether its log holds, and the operator's switch. */
import type { ReactNode } from "react";
import type { Erasure } from "#client/types.ts";
import type { Api, ThreadData } from "../api/api.ts";
import type { Place } from "../api/types.ts";
import { formatCost, formatKnownCost, plural, sumCosts } from "../app/format.ts";
import { SidePanel } from "../app/side-panel.tsx";
import { Erase } from "./erase.tsx";
import { Operator } from "./operator.tsx";
import { Verify } from "./verify.tsx";

interface Props {
  readonly api: Api;
  readonly place: Place;
  readonly data: ThreadData | null;
  /** The credential may halt and resume. */
  readonly canOperate: boolean;
  readonly onHalt: (reason: string) => Promise<boolean>;
  readonly onResume: () => Promise<boolean>;
  /** Null for who may not. */
  readonly onErase: (() => Promise<Erasure | null>) | null;
  readonly onClose: () => void;
}

export function RecordPanel(props: Props): ReactNode {
  const { api, place, data, canOperate, onHalt, onResume, onErase, onClose } = props;
  return (
    <SidePanel title="Record" closeLabel="Close the record" onClose={onClose}>
      <div
        className="side-body"
        role="region"
        aria-label="Record of this conversation"
        tabIndex={0}
      >
        <Verify api={api} place={place} />
        {data !== null && <ThreadCosts data={data} />}
        {data !== null && canOperate && (
          <Operator halted={data.thread.halted} onHalt={onHalt} onResume={onResume} />
        )}
        {data !== null && onErase !== null && <Erase onErase={onErase} />}
      </div>
    </SidePanel>
  );
}

function ThreadCosts({ data }: { readonly data: ThreadData }): ReactNode {
  const { runs } = data;
  const sum = sumCosts(runs);
  return (
    <section className="explained">
      <h3>Cost</h3>
      {runs.length === 0 ? (
        <p className="small muted">Nothing has run yet.</p>
      ) : (
        <dl className="facts">
          <dt>{plural(runs.length, "run")}</dt>
          <dd>{formatKnownCost(sum)}</dd>
          {sum.recoveryMicros > 0 && (
            <>
              <dt>Recovery</dt>
              <dd>{formatCost(sum.recoveryMicros)} of it, paid again after an interruption</dd>
            </>
          )}
          {sum.estimatedMicros > 0 && (
            <>
              <dt>Estimated</dt>
              <dd>{formatCost(sum.estimatedMicros)} of it, until the provider says</dd>
            </>
          )}
        </dl>
      )}
      {sum.unpriced > 0 && (
        <p className="small muted">
          Nobody has told this server what {plural(sum.unpriced, "call")} cost. An operator sets the
          price of a route with <code>PUT /v1/prices</code>.
        </p>
      )}
      <a className="small" href="#spend">
        Spend of all conversations
      </a>
    </section>
  );
}
