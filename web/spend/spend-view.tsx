/** What was spent over all conversations, by day, agent, model, tool or user; and the same as a table to take along. */
import { useState, type ReactNode } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { SpendGroup } from "../api/types.ts";
import { Icon } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { PageView } from "../app/page-view.tsx";
import { saveAs } from "../app/save-as.ts";
import { SpendTable } from "./spend-table.tsx";
import { useSpend } from "./use-spend.ts";

const GROUPS: readonly (readonly [SpendGroup, string])[] = [
  ["day", "Day"],
  ["agent", "Agent"],
  ["model", "Model"],
  ["tool", "Tool"],
  ["user", "Owner"],
];
/** In days; null for everything. */
const PERIODS: readonly (readonly [number | null, string])[] = [
  [7, "Last 7 days"],
  [30, "Last 30 days"],
  [null, "All time"],
];
const DAY_MS = 86_400_000;

interface Props {
  readonly api: Api;
  readonly onOpenSidebar: () => void;
}

export function SpendView({ api, onOpenSidebar }: Props): ReactNode {
  const [groupBy, setGroupBy] = useState<SpendGroup>("day");
  const [days, setDays] = useState<number | null>(30);
  const [problem, setProblem] = useState<string | null>(null);
  const request = { groupBy, from: days === null ? null : toFirstDay(days) };
  const { items, hasMore, error, reload } = useSpend(api, request);
  const shown = problem ?? error;

  async function download(): Promise<void> {
    try {
      setProblem(null);
      saveAs(await api.spendCsv(request), "spend.csv");
    } catch (reason) {
      setProblem(toMessage(reason));
    }
  }
  const csv = (
    <button
      type="button"
      className="button button-small"
      aria-label="Download as CSV"
      onClick={() => void download()}
    >
      <Icon name="download" /> CSV
    </button>
  );
  return (
    <PageView title="Spend" actions={csv} onOpenSidebar={onOpenSidebar}>
      <div className="spend-choices">
        <Choice
          legend="By"
          options={GROUPS}
          value={groupBy}
          onChange={(group) => setGroupBy(group)}
        />
        <label className="delivery">
          <span className="visually-hidden">Period</span>
          <select
            aria-label="Period"
            value={days ?? 0}
            onChange={(event) => setDays(Number(event.target.value) || null)}
          >
            {PERIODS.map(([count, label]) => (
              <option key={label} value={count ?? 0}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      {shown !== null && (
        <Notice kind="error" text={shown}>
          <button type="button" className="text-button" onClick={reload}>
            Try again
          </button>
        </Notice>
      )}
      {items === null && shown === null && <p className="empty">Loading …</p>}
      {items !== null && <SpendTable items={items} groupBy={groupBy} />}
      {hasMore && (
        <p className="small muted">
          There are more rows than are shown. The CSV holds up to 10,000.
        </p>
      )}
      <p className="small muted page-note">
        Days are UTC. Sums follow the conversations within seconds. What an interruption made the
        server pay again is “recovery”; where a provider has not said what was used it is
        “estimated”; both are part of the cost.
      </p>
    </PageView>
  );
}

function Choice(props: {
  readonly legend: string;
  readonly options: typeof GROUPS;
  readonly value: SpendGroup;
  readonly onChange: (value: SpendGroup) => void;
}): ReactNode {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{props.legend}</legend>
      {props.options.map(([value, label]) => (
        <label key={value} className={value === props.value ? "segment is-on" : "segment"}>
          <input
            type="radio"
            name="spend-by"
            checked={value === props.value}
            onChange={() => props.onChange(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

function toFirstDay(days: number): string {
  return new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}
