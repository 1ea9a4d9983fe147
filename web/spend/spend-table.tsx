import type { ReactNode } from "react";
import type { SpendItem } from "#client/types.ts";
import type { SpendGroup } from "../api/types.ts";
import { formatCost, formatKnownCost, plural, sumCosts, type Cost } from "../app/format.ts";

const HEADS = { day: "Day", agent: "Agent", model: "Model", tool: "Tool", user: "Owner" } as const;
/** What was not spent on one of these. */
const OTHERS = {
  day: "",
  agent: "",
  user: "",
  model: "Tools, no model",
  tool: "Models, no tool",
} as const;

interface Props {
  readonly items: readonly SpendItem[];
  readonly groupBy: SpendGroup;
}

export function SpendTable({ items, groupBy }: Props): ReactNode {
  if (items.length === 0) {
    return (
      <p className="empty">
        Nothing was spent in this time. Start a conversation, or choose a longer one.
      </p>
    );
  }
  // The newest day first; else what cost most.
  const rows = items.toSorted((a, b) =>
    groupBy === "day"
      ? (b.day ?? "").localeCompare(a.day ?? "")
      : (b.costMicros ?? 0) - (a.costMicros ?? 0),
  );
  const most = Math.max(...rows.map(({ costMicros }) => costMicros ?? 0));
  const total = sumCosts(rows);
  return (
    <div className="table" role="region" aria-label="Spend" tabIndex={0}>
      <table className="spend">
        <thead>
          <tr>
            <th scope="col">{HEADS[groupBy]}</th>
            <th scope="col">Cost</th>
            {total.recoveryMicros > 0 && <th scope="col">Recovery</th>}
            {total.estimatedMicros > 0 && <th scope="col">Estimated</th>}
            <th scope="col">Calls</th>
            <th scope="col">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((item) => (
            <tr key={item[groupBy] ?? ""}>
              <th scope="row">
                {item[groupBy] === "" ? OTHERS[groupBy] : item[groupBy]}
                <Bar part={item.costMicros ?? 0} of={most} />
              </th>
              <Numbers cost={item} total={total} calls={item.calls} tokens={tokensOf(item)} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <Numbers
              cost={total}
              total={total}
              calls={sum(rows, ({ calls }) => calls)}
              tokens={sum(rows, tokensOf)}
            />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

/** Parts of the cost that are nowhere anything have no column. */
function Numbers(props: {
  readonly cost: Cost;
  readonly total: Cost;
  readonly calls: number;
  readonly tokens: number;
}): ReactNode {
  const { cost, total, calls, tokens } = props;
  return (
    <>
      <td>
        <CostOf cost={cost} />
      </td>
      {total.recoveryMicros > 0 && <td>{toPart(cost.recoveryMicros)}</td>}
      {total.estimatedMicros > 0 && <td>{toPart(cost.estimatedMicros)}</td>}
      <td>{calls.toLocaleString("en")}</td>
      <td>{tokens.toLocaleString("en")}</td>
    </>
  );
}

/** In two lines where some of it is unknown: a column has no room for a sentence. */
function CostOf({ cost }: { readonly cost: Cost }): ReactNode {
  const { costMicros, unpriced } = cost;
  if (unpriced === 0 || costMicros === null || costMicros === 0) return formatKnownCost(cost);
  return (
    <>
      {formatCost(costMicros)}
      <span className="spend-unknown">+ {plural(unpriced, "call")} of unknown price</span>
    </>
  );
}

function Bar({ part, of }: { readonly part: number; readonly of: number }): ReactNode {
  if (of === 0) return null;
  return (
    <svg className="spend-bar" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
      <rect width={(100 * part) / of} height="3" />
    </svg>
  );
}

function toPart(micros: number): string {
  return micros === 0 ? "–" : formatCost(micros);
}

function tokensOf({ inputTokens, outputTokens }: SpendItem): number {
  return inputTokens + outputTokens;
}

function sum(items: readonly SpendItem[], of: (item: SpendItem) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
