/** One conversation: uploads, questions, and the run in progress. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { followRun } from "./follow.mjs";
import { newThreadId } from "./options.mjs";

export class Session {
  #api;
  #renderer;
  #approvals;
  #thread;
  #opened = false;
  #active = null;
  #messageId = null;

  constructor({ api, renderer, approvals, thread }) {
    this.#api = api;
    this.#renderer = renderer;
    this.#approvals = approvals;
    this.#thread = thread;
  }

  get thread() {
    return this.#thread;
  }

  /** Of this terminal's own: a run that was only taken up goes on waiting when the terminal leaves. */
  get isBusy() {
    return this.#active !== null && !this.#active.isTakenUp;
  }

  get isCancelling() {
    return this.#active?.cancelling ?? false;
  }

  begin() {
    this.#thread = newThreadId();
    this.#opened = false;
    this.#messageId = null;
  }

  async #open() {
    if (this.#opened) return;
    await this.#api.openThread(this.#thread);
    this.#opened = true;
  }

  async upload(path) {
    // npm runs scripts in the project's folder; a path is meant from where the user typed it.
    const file = resolve(process.env.INIT_CWD ?? process.cwd(), path);
    const bytes = readFileSync(file);
    await this.#open();
    await this.#api.upload(this.#thread, basename(file), bytes);
    this.#renderer.note(`uploaded ${basename(file)} (${bytes.length} bytes)`);
  }

  async listFiles() {
    await this.#open();
    const { items } = await this.#api.files(this.#thread);
    if (items.length === 0) this.#renderer.note("no files; /file PATH uploads one");
    for (const { path, bytes } of items) this.#renderer.note(`${path}  ${bytes} bytes`);
  }

  /** Says what waits for a person in a thread that is gone on with; null where nothing does. */
  async showWaiting(hint) {
    const { items } = await this.#api.openApprovals(this.#thread);
    if (items.length === 0) return null;
    this.#renderer.note(
      `${items.length === 1 ? "a call waits" : `${items.length} calls wait`} for a person; ${hint}`,
    );
    return items;
  }

  /** What waits is asked about, and its run followed to the end. Without a terminal it is shown, with how to decide. */
  async takeUp() {
    const hint = this.#approvals.asks ? "Ctrl-C leaves it waiting" : "a message supersedes it";
    const items = await this.showWaiting(hint);
    if (items === null) return;
    if (!this.#approvals.asks) {
      for (const approval of items) {
        const event = {
          header: { type: "approval.requested", id: approval.approvalId },
          payload: approval,
        };
        this.#renderer.frame("event", event);
        this.#approvals.event(this.#thread, event);
      }
      this.#approvals.clear();
      return;
    }
    const [{ runId, seq }] = items;
    const stream = this.#api.streamOf(this.#thread, runId, seq - 1);
    this.#approvals.hold();
    await this.#follow({ runId, messageId: this.#messageId, stream }, true);
  }

  /** Resolves with whether the run completed. */
  async ask(text) {
    await this.#open();
    return this.#follow(await this.#api.send(this.#thread, text));
  }

  /** Another answer to the last question; the one it had stays in the log. */
  async again() {
    if (this.#messageId === null) return this.#renderer.note("nothing was asked yet");
    return this.#follow(await this.#api.regenerate(this.#thread, this.#messageId));
  }

  /** Begins with an empty window in the same thread, files and log included. */
  async clear() {
    await this.#open();
    await this.#api.clear(this.#thread);
    this.#messageId = null;
    this.#renderer.note("cleared; files and log stay");
  }

  async #follow(receipt, isTakenUp = false) {
    this.#messageId = receipt.messageId;
    const stop = new AbortController();
    this.#active = { runId: receipt.runId, stop, cancelling: false, isTakenUp };
    try {
      const ended = await followRun({
        api: this.#api,
        receipt,
        signal: stop.signal,
        onFrame: (kind, data) => {
          this.#active.runId ??= data.header?.run ?? null;
          this.#renderer.frame(kind, data);
          if (kind === "event") this.#approvals.event(this.#thread, data);
          if (kind === "caught_up") this.#approvals.release();
        },
      });
      const { runId } = this.#active;
      if (runId !== null) this.#renderer.summary(await this.#api.run(this.#thread, runId));
      return ended === "run.completed";
    } finally {
      this.#approvals.clear();
      this.#active = null;
    }
  }

  async cancel() {
    const runId = this.#active?.runId ?? null;
    if (runId === null) return this.#renderer.note("nothing runs");
    this.#active.cancelling = true;
    this.#renderer.note("cancelling ... (Ctrl-C again leaves; the run then ends on the server)");
    await this.#api.cancel(this.#thread, runId);
  }

  leave() {
    this.#active?.stop.abort();
  }
}
