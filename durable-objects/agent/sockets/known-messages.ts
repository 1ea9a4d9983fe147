/**
 * KnownMessages: which user messages the active branch of a thread holds, and whether one still says the same (P24).
 *
 * Read once from a snapshot, which reads thousands of events, and then kept up by what is appended: a message to a long
 * thread must not pay for its past. Texts are kept as hashes, so that an erasure leaves none here.
 */
import type { ChatSnapshot } from "#ports/thread-gateway.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { isJsonObject, utf8 } from "#shared/json.ts";
import { takeSnapshot } from "./snapshot.ts";

/** Read anew beyond this, from a snapshot, which holds the newest few hundred. */
const MAX_KNOWN = 5_000;

export class KnownMessages {
  readonly #digests = new Map<string, string>();
  #host: ThreadHost | null = null;
  #branchSeq: number | null = null;
  #seq = 0;

  /** Takes over a snapshot that was just taken for another purpose. */
  seed(host: ThreadHost, { views }: ChatSnapshot): void {
    this.#digests.clear();
    this.#host = host;
    this.#branchSeq = host.runtime.state.branch.seq;
    this.#seq = host.runtime.seq;
    for (const { role, messageId, content } of views) {
      if (role !== "user") continue;
      const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
      this.#add(messageId, parts.map((part) => String(part["text"] ?? "")).join(""));
    }
  }

  has(host: ThreadHost, messageId: string): boolean {
    this.#keepUp(host);
    return this.#digests.has(messageId);
  }

  /** False for a message that is not known, too. */
  says(host: ThreadHost, messageId: string, text: string): boolean {
    this.#keepUp(host);
    return this.#digests.get(messageId) === this.#digest(text);
  }

  #keepUp(host: ThreadHost): void {
    const { state, seq } = host.runtime;
    const isSame = this.#host === host && this.#branchSeq === state.branch.seq;
    if (!isSame || this.#digests.size > MAX_KNOWN) {
      this.seed(host, takeSnapshot(host));
      return;
    }
    while (this.#seq < seq) {
      const events = host.runtime.eventsAfter(this.#seq);
      if (events.length === 0) return;
      for (const { type, header, payload } of events) {
        if (type === "input.received")
          this.#add(payload?.messageId ?? header.id, payload?.text ?? "");
        this.#seq = header.seq;
      }
    }
  }

  #add(messageId: string, text: string): void {
    this.#digests.set(messageId, this.#digest(text));
  }

  #digest(text: string): string {
    return this.#host?.storage.hasher.sha256(utf8(text)) ?? "";
  }
}
