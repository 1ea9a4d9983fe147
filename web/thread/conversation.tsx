/** One conversation: what was said, what waits, what it cost, and the files beside it. */
import { useEffect, useMemo, useState, type ReactNode } from "react";
import type { Api, ThreadData } from "../api/api.ts";
import { HoldfastError } from "#client/errors.ts";
import { toMessage } from "../api/to-message.ts";
import type { Agent, Delivery, Erasure, Run } from "#client/types.ts";
import type { Me, Place } from "../api/types.ts";
import { Notice } from "../app/notice.tsx";
import { DropZone } from "../files/drop-zone.tsx";
import { FilesPanel } from "../files/files-panel.tsx";
import { ExplainPanel } from "../explain/explain-panel.tsx";
import { MessageList } from "../message/message-list.tsx";
import { RecordPanel } from "../record/record-panel.tsx";
import { SchedulesPanel } from "../schedule/schedules-panel.tsx";
import { BudgetAsk } from "./budget-ask.tsx";
import { Composer } from "./composer.tsx";
import { ConnectionNotice } from "./connection-notice.tsx";
import { HaltedNotice } from "./halted-notice.tsx";
import { Plan } from "./plan.tsx";
import { ThreadHeader } from "./thread-header.tsx";
import { toStamp } from "./stamp.ts";
import { useChat } from "./use-chat.ts";
import { useThreadData } from "./use-thread-data.ts";
import { WaitingNotice } from "./waiting-notice.tsx";

/** What lies beside the messages; one at a time. */
export type Panel =
  | { readonly is: "files" }
  | { readonly is: "record" }
  | { readonly is: "schedules" }
  | { readonly is: "explain"; readonly run: string };

const NO_RUNS: readonly Run[] = [];

interface Props {
  readonly api: Api;
  readonly agent: Agent;
  readonly place: Place;
  /** Null until it has been read: what only some may do is not shown. */
  readonly me: Me | null;
  readonly onOpenSidebar: () => void;
  readonly onChanged: () => void;
}

export function Conversation({
  api,
  agent,
  place: given,
  me,
  onOpenSidebar,
  onChanged,
}: Props): ReactNode {
  // The component is keyed by its place, so this is one object for as long as it lives.
  const [place] = useState(given);
  const chat = useChat(api, place);
  const stamp = toStamp(chat);
  const { data, error: dataError, refresh } = useThreadData(api, place, stamp);
  const [panel, setPanel] = useState<Panel | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  /** Whatever is asked of the API directly: its failure is shown, and what it changed is read again. */
  async function ask(work: Promise<void>): Promise<boolean> {
    setFailure(null);
    const done = await work.then(
      () => true,
      (reason: unknown) => {
        // A run that ended by itself while it was being stopped is stopped.
        const isOver = reason instanceof HoldfastError && reason.code === "run_not_active";
        if (!isOver) setFailure(toMessage(reason));
        return isOver;
      },
    );
    await refresh();
    return done;
  }
  const upload = (files: readonly File[]): void => {
    setPanel({ is: "files" });
    void ask(Promise.all(files.map((file) => api.upload(place, file.name, file))).then(onChanged));
  };
  const open = useMemo(
    () => data?.approvals.filter(({ status }) => status === "open") ?? [],
    [data],
  );
  // What waits is also counted beside the list of conversations.
  const waiting = open.length;
  useEffect(onChanged, [onChanged, waiting]);
  const activeRun = data?.thread.activeRun ?? null;
  const isWaiting = !chat.busy && open.length > 0;
  const isLive = chat.busy || activeRun !== null;

  function send(text: string, delivery: Delivery): void {
    if (isLive) void ask(api.send(place, text, delivery));
    else chat.send(text);
  }
  function stop(): void {
    if (chat.busy) chat.stop();
    // The hook stops the stream that it knows of; the run is what has to end.
    void ask(api.cancelActive(place));
  }
  /** The receipt; null where it was refused. */
  async function erase(): Promise<Erasure | null> {
    const told: { receipt: Erasure | null } = { receipt: null };
    await ask(
      api.erase(place).then((receipt) => {
        told.receipt = receipt;
        // What this tab still shows is read again.
        chat.reconnect();
        onChanged();
      }),
    );
    return told.receipt;
  }
  const lastUser = chat.messages.findLast(({ role }) => role === "user");
  const toggle = (is: "files" | "record" | "schedules"): void =>
    setPanel(panel?.is === is ? null : { is });
  const closePanel = (): void => setPanel(null);
  const halted = data?.thread.halted ?? null;
  const canOperate = me?.scopes.includes("operate") === true;
  const readOnly = data !== null && !data.thread.writable;
  return (
    <DropZone onFiles={upload}>
      <main className="conversation">
        <ThreadHeader
          agent={agent}
          data={data}
          busy={isLive}
          panel={panel?.is ?? null}
          onOpenSidebar={onOpenSidebar}
          onToggle={toggle}
          onClear={chat.clear}
          onSelectBranch={(branch) => void ask(api.selectBranch(place, branch))}
        />
        <ConnectionNotice state={chat.connection} refusal={chat.refusal} />
        {readOnly && <Notice kind="warn" text={toReadOnly(data.thread.readOnlyReason)} />}
        <HaltedNotice
          halted={halted}
          onResume={canOperate ? () => void ask(api.resume(place)) : null}
        />
        <MessageList
          chat={chat}
          data={data}
          agent={agent}
          live={isLive}
          editing={editing}
          onEdit={setEditing}
          onExplain={(run) => setPanel({ is: "explain", run })}
          onDecide={(approvalId, decision) => ask(api.decide(place, approvalId, decision))}
        />
        <Plan plan={data?.thread.plan ?? null} />
        <BudgetAsk
          open={isWaiting ? open : []}
          onDecide={canOperate ? (id, decision) => ask(api.decide(place, id, decision)) : null}
        />
        <WaitingNotice open={isWaiting ? open.filter(({ kind }) => kind !== "budget") : []} />
        <Composer
          placeholder={toPlaceholder({ agent: agent.name, isHalted: halted !== null, isWaiting })}
          state={
            readOnly || halted !== null || chat.connection === "refused"
              ? "closed"
              : toState(isLive, isWaiting)
          }
          error={failure ?? (isToldByRun(chat.error, data) ? null : chat.error) ?? dataError}
          onSend={send}
          onFiles={upload}
          onStop={stop}
          onEditLast={() => setEditing(lastUser?.id ?? null)}
          onDismissError={() => {
            setFailure(null);
            chat.clearError();
          }}
        />
      </main>
      {panel?.is === "files" && (
        <FilesPanel
          files={data?.files ?? null}
          onUpload={upload}
          onDownload={(path) => api.download(place, path)}
          onDelete={(path) => ask(api.deleteFile(place, path))}
          onClose={closePanel}
        />
      )}
      {panel?.is === "schedules" && (
        <SchedulesPanel
          api={api}
          place={place}
          runs={data?.runs ?? NO_RUNS}
          stamp={stamp}
          canWrite={me?.scopes.includes("threads:write") === true}
          onClose={closePanel}
        />
      )}
      {panel?.is === "record" && (
        <RecordPanel
          api={api}
          place={place}
          data={data}
          canOperate={canOperate}
          onHalt={(reason) => ask(api.halt(place, reason))}
          onResume={() => ask(api.resume(place))}
          onErase={me?.scopes.includes("erase") === true ? erase : null}
          onClose={closePanel}
        />
      )}
      {panel?.is === "explain" && (
        <ExplainPanel
          key={panel.run}
          api={api}
          place={place}
          run={panel.run}
          known={data?.runs.find(({ runId }) => runId === panel.run) ?? null}
          onClose={closePanel}
        />
      )}
    </DropZone>
  );
}

/** A failed run is shown where it failed, and not a second time. */
function isToldByRun(error: string | null, data: ThreadData | null): boolean {
  const last = data?.runs.at(-1);
  return error !== null && last?.status === "failed" && last.message === error;
}

function toState(isLive: boolean, isWaiting: boolean): "idle" | "working" | "waiting" {
  if (!isLive) return "idle";
  return isWaiting ? "waiting" : "working";
}

function toPlaceholder(known: {
  readonly agent: string;
  readonly isHalted: boolean;
  readonly isWaiting: boolean;
}): string {
  if (known.isHalted) return "Halted until it is resumed";
  return known.isWaiting ? "It waits for you, above" : `Message ${known.agent}`;
}

function toReadOnly(reason: string | null): string {
  const why =
    reason === "log_newer_than_code"
      ? "It was written by a newer version of Holdfast: deploy that version to go on."
      : "Its log could not be opened for writing; ask whoever runs this server.";
  return `This conversation can only be read. ${why}`;
}
