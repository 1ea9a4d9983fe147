/** What this conversation does by itself: each schedule with its next time and last run, to be held or removed (W21). */
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Run, Schedule } from "#client/types.ts";
import type { Api } from "../api/api.ts";
import type { Place } from "../api/types.ts";
import { formatAgo } from "../app/format.ts";
import { Notice } from "../app/notice.tsx";
import { SidePanel } from "../app/side-panel.tsx";
import { toNextWords, toRuleWords } from "./schedule-words.ts";
import { useSchedules, type Schedules } from "./use-schedules.ts";

interface Props {
  readonly api: Api;
  readonly place: Place;
  readonly runs: readonly Run[];
  /** Changes with what happens in the conversation. */
  readonly stamp: string;
  readonly canWrite: boolean;
  readonly onClose: () => void;
}

export function SchedulesPanel({ api, place, runs, stamp, canWrite, onClose }: Props): ReactNode {
  const schedules = useSchedules(api, place, stamp);
  const { items, error, reload } = schedules;
  const body = useRef<HTMLDivElement>(null);
  return (
    <SidePanel title="Schedules" closeLabel="Close the schedules" onClose={onClose}>
      <div
        ref={body}
        className="side-body"
        role="region"
        aria-label="Schedules of this conversation"
        tabIndex={0}
      >
        {error !== null && (
          <Notice kind="error" text={error}>
            <button type="button" className="text-button" onClick={() => void reload()}>
              Try again
            </button>
          </Notice>
        )}
        {items === null && error === null && <p className="empty">Loading …</p>}
        {items?.length === 0 && <Nothing place={place} />}
        <ul>
          {items?.map((schedule) => (
            <li key={schedule.scheduleId} className="explained">
              <Entry
                api={api}
                place={place}
                schedule={schedule}
                lastRun={runs.find(({ runId }) => runId === schedule.lastRun) ?? null}
                canWrite={canWrite}
                ask={schedules.ask}
                onRemoved={() => body.current?.focus()}
              />
            </li>
          ))}
        </ul>
      </div>
    </SidePanel>
  );
}

function Nothing({ place }: { readonly place: Place }): ReactNode {
  return (
    <p className="empty">
      Nothing is scheduled here. An agent’s file declares what it does by itself in its conversation{" "}
      <code>main</code>; <code>PUT …/threads/{place.thread}/schedules/name</code> sets one here.
    </p>
  );
}

interface EntryProps {
  readonly api: Api;
  readonly place: Place;
  readonly schedule: Schedule;
  /** Null where there was none, or it is not on the page. */
  readonly lastRun: Run | null;
  readonly canWrite: boolean;
  readonly ask: Schedules["ask"];
  readonly onRemoved: () => void;
}

function Entry(props: EntryProps): ReactNode {
  const { schedule, lastRun, canWrite } = props;
  const { scheduleId, text, overlap, declared, paused } = schedule;
  const titleId = `schedule-${scheduleId}`;
  return (
    <section className="explained-notes" aria-labelledby={titleId}>
      <h3 id={titleId}>
        {scheduleId}
        <span className="explained-cost">
          {paused ? "paused" : declared ? "from the agent’s file" : ""}
        </span>
      </h3>
      <p className="schedule-text">{text}</p>
      <dl className="facts">
        <dt>Fires</dt>
        <dd>
          {toRuleWords(schedule)}
          {overlap === "queue" ? "; waits for a run before it" : ""}
        </dd>
        <dt>Next</dt>
        <dd>{toNextWords(schedule)}</dd>
        <dt>Last run</dt>
        <dd>{toLastWords(schedule, lastRun)}</dd>
      </dl>
      {canWrite && <Actions {...props} />}
      {declared && (
        <p className="small muted">
          It can be paused; only the agent’s file changes or removes it.
        </p>
      )}
    </section>
  );
}

function toLastWords(schedule: Schedule, run: Run | null): string {
  if (schedule.lastRun === null) return "None yet";
  if (run === null) return schedule.lastRun;
  return `${run.status}, begun ${formatAgo(run.createdAt)}`;
}

function Actions({ api, place, schedule, ask, onRemoved }: EntryProps): ReactNode {
  const { scheduleId, paused, declared } = schedule;
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const remove = useRef<HTMLButtonElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  // The keyboard lands on what does no harm.
  useEffect(() => {
    if (asking) keep.current?.focus();
  }, [asking]);

  async function act(work: Promise<unknown>): Promise<void> {
    setBusy(true);
    await ask(work);
    setBusy(false);
  }
  if (asking) {
    return (
      <div className="row" role="group" aria-label={`Really remove ${scheduleId}?`}>
        <button
          ref={keep}
          type="button"
          className="button button-small"
          onClick={() => {
            setAsking(false);
            queueMicrotask(() => remove.current?.focus());
          }}
        >
          Keep
        </button>
        <button
          type="button"
          className="button button-small button-danger"
          disabled={busy}
          onClick={() => void act(api.deleteSchedule(place, scheduleId)).then(onRemoved)}
        >
          Remove it
        </button>
      </div>
    );
  }
  return (
    <div className="row">
      <button
        type="button"
        className="button button-small"
        aria-label={`${paused ? "Resume" : "Pause"} ${scheduleId}`}
        aria-disabled={busy}
        onClick={() => {
          if (!busy) void act(api.holdSchedule(place, scheduleId, !paused));
        }}
      >
        {paused ? "Resume" : "Pause"}
      </button>
      <button
        type="button"
        className="button button-small"
        aria-label={`Run now: ${scheduleId}`}
        aria-disabled={busy}
        onClick={() => {
          if (!busy) void act(api.fireSchedule(place, scheduleId));
        }}
      >
        Run now
      </button>
      {!declared && (
        <button
          ref={remove}
          type="button"
          className="button button-small button-danger"
          aria-label={`Remove ${scheduleId}`}
          onClick={() => setAsking(true)}
        >
          Remove
        </button>
      )}
    </div>
  );
}
