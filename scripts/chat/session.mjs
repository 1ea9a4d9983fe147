/** One conversation: uploads, questions, and the run in progress. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { HoldfastError } from "../../client/errors.ts";
import { newThreadId } from "./options.mjs";

export class Session {
  #agent;
  #renderer;
  #approvals;
  #delivery;
  #thread;
  #opened = false;
  #active = null;
  #messageId = null;

  constructor({ agent, renderer, approvals, options }) {
    this.#agent = agent;
    this.#renderer = renderer;
    this.#approvals = approvals;
    this.#delivery = options.delivery;
    this.#thread = agent.thread(options.thread);
  }

  get thread() {
    return this.#thread.id;
  }

  /** Of this terminal's own: a run that was only taken up goes on waiting when the terminal leaves. */
  get isBusy() {
    return this.#active !== null && !this.#active.isTakenUp;
  }

  get isCancelling() {
    return this.#active?.cancelling ?? false;
  }

  begin() {
    this.#thread = this.#agent.thread(newThreadId());
    this.#opened = false;
    this.#messageId = null;
  }

  async #open() {
    if (this.#opened) return;
    await this.#agent.createThread({ id: this.thread });
    this.#opened = true;
  }

  async upload(path) {
    // npm runs scripts in the project's folder; a path is meant from where the user typed it.
    const file = resolve(process.env.INIT_CWD ?? process.cwd(), path);
    const bytes = readFileSync(file);
    await this.#open();
    await this.#thread.files.write(basename(file), bytes);
    this.#renderer.note(`uploaded ${basename(file)} (${bytes.length} bytes)`);
  }

  async listFiles() {
    await this.#open();
    const items = await this.#thread.files.list();
    if (items.length === 0) this.#renderer.note("no files; /file PATH uploads one");
    for (const { path, bytes } of items) this.#renderer.note(`${path}  ${bytes} bytes`);
  }

  /** Says what waits for a person in a thread that is gone on with; null where nothing does. */
  async showWaiting(hint) {
    const items = await this.#openApprovals();
    if (items.length === 0) return null;
    this.#renderer.note(
      `${items.length === 1 ? "a call waits" : `${items.length} calls wait`} for a person; ${hint}`,
    );
    return items;
  }

  /** Oldest first, one page: more than anybody decides at a prompt. None where there is no such thread yet. */
  async #openApprovals() {
    try {
      return (await this.#thread.approvals({ state: "open" })).items;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "not_found") return [];
      throw error;
    }
  }

  /** What waits is asked about, and its run followed to the end. Without a terminal it is shown, with how to decide. */
  async takeUp() {
    const hint = this.#approvals.asks ? "Ctrl-C leaves it waiting" : "a message supersedes it";
    const items = await this.showWaiting(hint);
    if (items === null) return;
    if (!this.#approvals.asks) {
      for (const approval of items) {
        const item = {
          type: "approval.requested",
          header: { id: approval.approvalId },
          payload: approval,
        };
        this.#renderer.item(item);
        this.#approvals.event(this.thread, item);
      }
      this.#approvals.clear();
      return;
    }
    const [{ runId, seq }] = items;
    this.#approvals.hold();
    await this.#follow(this.#thread.run(runId), { from: String(seq - 1), isTakenUp: true });
  }

  /** Resolves with whether the run completed. */
  async ask(text) {
    await this.#open();
    return this.#begun(await this.#thread.send(text, { delivery: this.#delivery }));
  }

  /** Another answer to the last question; the one it had stays in the log. */
  async again() {
    if (this.#messageId === null) return this.#renderer.note("nothing was asked yet");
    return this.#begun(await this.#thread.regenerate(this.#messageId));
  }

  /** Begins with an empty window in the same thread, files and log included. */
  async clear() {
    await this.#open();
    await this.#thread.clear();
    this.#messageId = null;
    this.#renderer.note("cleared; files and log stay");
  }

  #begun(run) {
    this.#messageId = run.receipt.messageId;
    return this.#follow(run, { from: String(run.receipt.seq), isTakenUp: false });
  }

  /** All of the thread until the run ends: what is queued behind another run shows that one first. */
  async #follow(run, { from, isTakenUp }) {
    const stop = new AbortController();
    this.#active = { run, stop, cancelling: false, isTakenUp };
    try {
      let ended = null;
      for await (const item of this.#thread.stream({ from, until: run.id, signal: stop.signal })) {
        this.#renderer.item(item);
        if (item.type === "caught_up") this.#approvals.release();
        else this.#approvals.event(this.thread, item);
        ended = item.type;
      }
      this.#renderer.summary(await run.get());
      return ended === "run.completed";
    } finally {
      this.#approvals.clear();
      this.#active = null;
    }
  }

  async cancel() {
    if (this.#active === null) return this.#renderer.note("nothing runs");
    this.#active.cancelling = true;
    this.#renderer.note("cancelling ... (Ctrl-C again leaves; the run then ends on the server)");
    await this.#active.run.cancel();
  }

  leave() {
    this.#active?.stop.abort();
  }
}
