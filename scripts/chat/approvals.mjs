/**
 * Approvals in a conversation: each is shown with exactly what would run, then asked about, one at a time. Without a
 * terminal nobody is asked, and the way to decide is said instead.
 */
import { HoldfastError } from "../../client/errors.ts";

const YES = /^y(es)?$/i;

export class Approvals {
  #agent;
  #renderer;
  #question;
  /** By id; removed when it is decided, here or anywhere else. */
  #open = new Map();
  #isAsking = false;
  #isHeld = false;

  /** `question(text, signal)` resolves with one line; null where there is nobody to ask. */
  constructor({ agent, renderer, question }) {
    this.#agent = agent;
    this.#renderer = renderer;
    this.#question = question;
  }

  /** Whether somebody sits there to ask. */
  get asks() {
    return this.#question !== null;
  }

  /** What follows is history: nobody is asked about it until `release`, and then only about what is still open. */
  hold() {
    this.#isHeld = true;
  }

  release() {
    this.#isHeld = false;
    if (this.asks && !this.#isAsking) void this.#askAll();
  }

  /** Events of the run in progress, in order. */
  event(thread, { type, header, payload }) {
    if (type === "approval.requested" && payload !== null) {
      const approval = { thread, id: header.id, payload, stop: new AbortController() };
      this.#open.set(header.id, approval);
      if (this.#question === null) this.#tellHow(approval);
      else if (!this.#isAsking && !this.#isHeld) void this.#askAll();
    }
    if (type === "approval.decided") this.#close(header.cause);
  }

  /** The run has ended, or its reader leaves. */
  clear() {
    this.#isHeld = false;
    for (const id of this.#open.keys()) this.#close(id);
  }

  #close(id) {
    this.#open.get(id)?.stop.abort();
    this.#open.delete(id);
  }

  #tellHow({ thread, id, payload }) {
    const body =
      payload.kind === "question"
        ? '{"decision":"answer","answer":...} or {"decision":"deny"}'
        : '{"decision":"approve"} or {"decision":"deny","comment":...}';
    this.#renderer.note(
      `  this waits for a person. Run npm run chat in a terminal, or POST /v1${this.#agent.thread(thread).path}/approvals/${id}/decision ${body}`,
    );
  }

  async #askAll() {
    this.#isAsking = true;
    try {
      for (;;) {
        const [approval] = this.#open.values();
        if (approval === undefined) return;
        await this.#ask(approval);
      }
    } finally {
      this.#isAsking = false;
    }
  }

  async #ask({ thread, id, payload, stop }) {
    try {
      const decision =
        payload.kind === "question"
          ? await this.#askAnswer(payload, stop.signal)
          : await this.#askLeave(stop.signal);
      if (decision === null) return;
      await this.#agent.thread(thread).decide(id, decision);
      this.#open.delete(id);
    } catch (error) {
      // Decided elsewhere meanwhile, or the conversation was left: the record says which.
      if (stop.signal.aborted) return;
      this.#renderer.problem(error.message);
      // What did not fit is asked again; anything else would fail again.
      if (!(error instanceof HoldfastError) || error.code !== "approval_answer_invalid")
        this.#open.delete(id);
    }
  }

  async #askLeave(signal) {
    const line = (
      await this.#question("  run it? [y = yes, n = no, or say why not] ", signal)
    ).trim();
    if (YES.test(line)) return { decision: "approve" };
    const isBareNo = line === "" || /^no?$/i.test(line);
    return isBareNo ? { decision: "deny" } : { decision: "deny", comment: line };
  }

  /** Null asks again. */
  async #askAnswer({ answerSchema }, signal) {
    const hint = answerSchema === null ? "" : "as JSON; ";
    const line = (await this.#question(`  answer [${hint}empty declines] `, signal)).trim();
    if (line === "") return { decision: "deny" };
    if (answerSchema === null) return { decision: "answer", answer: line };
    try {
      return { decision: "answer", answer: JSON.parse(line) };
    } catch {
      this.#renderer.problem("that is not JSON; a text needs its quotes");
      return null;
    }
  }
}
