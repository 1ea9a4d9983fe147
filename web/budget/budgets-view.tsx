/** What may be spent: each budget with what is spent, held and left of it, and who holds what (W18). For who may operate. */
import type { ReactNode } from "react";
import type { Budget, Lease } from "#client/types.ts";
import type { Api } from "../api/api.ts";
import { formatAgo, formatAmount, formatTime } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { PageView } from "../app/page-view.tsx";
import { routeTo } from "../app/route.ts";
import { useBudgets } from "./use-budgets.ts";

interface Props {
  readonly api: Api;
  readonly onOpenSidebar: () => void;
}

export function BudgetsView({ api, onOpenSidebar }: Props): ReactNode {
  const { budgets, leases, error, reload } = useBudgets(api);
  const again = (
    <button type="button" className="button button-small" onClick={reload}>
      Refresh
    </button>
  );
  return (
    <PageView title="Budgets" actions={again} onOpenSidebar={onOpenSidebar}>
      {error !== null && (
        <Notice kind="error" text={error}>
          <button type="button" className="text-button" onClick={reload}>
            Try again
          </button>
        </Notice>
      )}
      {budgets === null && error === null && <p className="empty">Loading …</p>}
      {budgets?.length === 0 && (
        <p className="empty">
          No budget is set: only the limits of each agent hold. Set one with{" "}
          <code>PUT /v1/budgets/name</code>.
        </p>
      )}
      {budgets !== null && budgets.length > 0 && (
        <ul className="budgets">
          {budgets.map((budget) => (
            <li key={budget.budgetId}>
              <BudgetCard budget={budget} />
            </li>
          ))}
        </ul>
      )}
      {leases.length > 0 && <Leases leases={leases} />}
    </PageView>
  );
}

const STATUS = {
  ok: null,
  warned: "Nearly used",
  exhausted: "At its limit",
  stopped: "Stopped: a call used more than it had reserved. Put the budget again to go on.",
} as const;
const AT_LIMIT = {
  stop: "At its limit, runs end.",
  cheaper: "At its limit, runs go on with a fallback of their agent.",
  ask: "At its limit, runs wait for somebody who may grant more.",
} as const;
const PERIODS = { day: "a day (UTC)", month: "a month (UTC)", total: "in all" } as const;

function BudgetCard({ budget }: { readonly budget: Budget }): ReactNode {
  const { budgetId, unit, limit, raised, spent, leased, left, period, atLimit } = budget;
  const status = toStatus(budget);
  const say = (value: number): string => formatAmount(value, unit);
  const problem = STATUS[status];
  const { resetsAt } = budget.window;
  return (
    <section className="explained-part" aria-labelledby={`budget-${budgetId}`}>
      <h2 id={`budget-${budgetId}`} className="budget-title">
        {budgetId}
        <span className="explained-cost">
          {say(limit)} {PERIODS[period]}, {toScope(budget)}
        </span>
      </h2>
      <Meter budget={budget} />
      <dl className="facts">
        <dt>Spent</dt>
        <dd>{say(spent)}</dd>
        {leased > 0 && (
          <>
            <dt>Held by runs</dt>
            <dd>{say(leased)}</dd>
          </>
        )}
        {raised > 0 && (
          <>
            <dt>Granted on top</dt>
            <dd>{say(raised)}</dd>
          </>
        )}
        <dt>Left</dt>
        <dd>{say(left)}</dd>
      </dl>
      {problem !== null && (
        <p className={`budget-status is-${status}`}>
          <Icon name="alert" /> {problem}
        </p>
      )}
      <p className="small muted">
        {resetsAt === null ? "It does not reset." : `It resets ${formatTime(resetsAt)}.`}{" "}
        {AT_LIMIT[atLimit]}
      </p>
    </section>
  );
}

/** Read out as a number; what is held stands behind what is spent. */
function Meter({ budget }: { readonly budget: Budget }): ReactNode {
  const { limit, raised, spent, leased } = budget;
  const whole = Math.max(1, limit + raised);
  const part = (value: number): number => Math.min(100, (100 * value) / whole);
  return (
    <svg
      className={`budget-meter is-${toStatus(budget)}`}
      viewBox="0 0 100 3"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${Math.round(part(spent))} percent spent`}
    >
      <rect className="is-held" width={part(spent + leased)} height="3" />
      <rect className="is-spent" width={part(spent)} height="3" />
    </svg>
  );
}

/** With nothing left it is at its limit, also where nobody has run into it since. */
function toStatus({ status, left }: Budget): Budget["status"] {
  return status === "warned" && left <= 0 ? "exhausted" : status;
}

function toScope({ scope }: Budget): string {
  switch (scope.kind) {
    case "tenant":
      return "everybody";
    case "agent":
      return `agent ${scope.agent}`;
    case "user":
      return `user ${scope.user}`;
    case "thread":
      return `conversation ${scope.agent}/${scope.thread}`;
  }
}

function Leases({ leases }: { readonly leases: readonly Lease[] }): ReactNode {
  return (
    <section aria-labelledby="leases">
      <h2 id="leases" className="page-heading">
        Held by runs
      </h2>
      <ul className="inbox">
        {leases.map((lease) => (
          <li key={lease.leaseId}>
            <a className="inbox-entry" href={routeTo(lease.agent, lease.thread)}>
              <span className="grow">
                <span className="inbox-what">
                  {lease.agent} holds {formatAmount(lease.blocked.costMicros, "costMicros")}
                </span>
                <span className="thread-meta">
                  {lease.unreachable
                    ? "Gives no answer: blocked until it does, or an operator writes it off"
                    : `Heard of ${formatAgo(lease.heardAt)}`}
                </span>
              </span>
              <Icon name="chevron" />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
