/**
 * Prompt compilation: references into the log -> the exact messages of a request, and their digest (K10, K11).
 *
 * Incremental: a compiler keeps what it compiled last, so a request that appends to the one before costs its new
 * messages only. The digest is one hash over the preamble's and all messages, kept running for the same reason. No clock,
 * no randomness: the same references give the same bytes on any machine.
 */
import { canonicalJson, type Json, utf8 } from "#shared/json.ts";
import type { Hasher, RunningHash } from "#ports/hasher.ts";
import type {
  ModelRequest,
  OutputSpec,
  PromptCall,
  PromptMessage,
  PromptReasoning,
  PromptText,
} from "#ports/model.ts";
import type { AnswerPart, PromptRef, ThreadEvent } from "./events.ts";
import type { AgentManifest } from "./manifest.ts";
import {
  contextText,
  planText,
  refusalText,
  resultText,
  shownParts,
  userText,
} from "./prompt-text.ts";
import { isSameRef } from "./window.ts";

/** PERSISTED CONTRACT: recorded with each request. Raise it with any change of compiled bytes or of their digest. */
export const COMPILER_VERSION = 2;
/** Made the same messages, with a digest of its own: logs that it wrote are verified by `chainedDigest`. */
export const CHAINING_COMPILER = 1;

/** Names of the calls that the newest assistant message made, by call id: what a result may answer. */
export type OpenCalls = ReadonlyMap<string, string>;
const NO_CALLS: OpenCalls = new Map();

/** Everything of a request but its messages: what its digest chain starts from. */
export function preamble(
  manifest: AgentManifest,
  output: OutputSpec | null,
): Omit<ModelRequest, "messages"> {
  const { instructions, settings } = manifest;
  const tools = manifest.tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
  return { instructions, tools, settings, output };
}

function preambleDigest(
  hasher: Hasher,
  compiler: number,
  { manifest, output }: Pick<PromptSource, "manifest" | "output">,
): string {
  const { route } = manifest;
  const content = { compiler, route, ...preamble(manifest, output) };
  return hasher.sha256(utf8(canonicalJson(content as unknown as Json)));
}

/** The digest of compiler 1: a chain with a link for each message. */
export function chainedDigest(
  hasher: Hasher,
  source: Pick<PromptSource, "manifest" | "output">,
  messages: readonly PromptMessage[],
): string {
  return messages.reduce(
    (previous, message) => hasher.sha256(utf8(previous), utf8(messageText(message))),
    preambleDigest(hasher, CHAINING_COMPILER, source),
  );
}

/** Canonical JSON: an object, so that texts that follow each other need nothing between them. */
function messageText(message: PromptMessage): string {
  return canonicalJson(message as unknown as Json);
}

/**
 * The message a reference stands for; null when nothing of it is left to show (K9). A result whose call is not shown,
 * because its answer was erased, is left out with it: no history makes a request invalid (K8).
 */
export function compileMessage(
  ref: PromptRef,
  event: ThreadEvent,
  calls: OpenCalls,
): PromptMessage | null {
  const [, , cut] = ref;
  switch (event.type) {
    case "input.received":
      return toUser(userText(event.payload), cut);
    case "context.added":
      return toUser(contextText(event.payload), cut);
    case "plan.updated":
      return toUser(planText(event.payload), cut);
    case "model.answered": {
      const content = shownParts(event.payload?.parts ?? []).map(toAssistantPart);
      return content.length === 0 ? null : { role: "assistant", content };
    }
    case "tool.finished":
      return toResult(event, cutText(resultText(event.payload), cut), calls);
    case "tool.refused":
      return toResult(event, cutText(refusalText(event.payload), cut), calls);
    default:
      return null;
  }
}

function toUser(text: string, cut: number): PromptMessage {
  return { role: "user", content: [{ type: "text", text: cutText(text, cut) }] };
}

function toResult(event: ThreadEvent, output: string, calls: OpenCalls): PromptMessage | null {
  const callId = event.header.call;
  const name = callId === null ? undefined : calls.get(callId);
  if (callId === null || name === undefined) return null;
  const isError =
    event.type !== "tool.finished" ||
    (event.payload !== null && event.payload.result.status !== "ok");
  return { role: "tool", content: [{ type: "result", callId, name, output, isError }] };
}

function toAssistantPart(part: AnswerPart): PromptText | PromptReasoning | PromptCall {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "reasoning":
      return { type: "reasoning", text: part.text, meta: part.meta };
    case "call":
      return {
        type: "call",
        callId: part.callId,
        name: part.name,
        args: part.args ?? { _raw: part.argsText },
      };
  }
}

/** Keeps `cut` characters, on a code point boundary, and says what is missing. 0 keeps all. */
export function cutText(text: string, cut: number): string {
  if (cut === 0 || cut >= text.length) return text;
  const splitsPair =
    /[\uD800-\uDBFF]/.test(text.charAt(cut - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(cut));
  const end = splitsPair ? cut - 1 : cut;
  return `${text.slice(0, end)}\n[${text.length - end} of ${text.length} characters left out]`;
}

export interface PromptSource {
  readonly manifest: AgentManifest;
  /** Hash of the manifest: what a kept preamble is known by. */
  readonly definition: string;
  readonly output: OutputSpec | null;
  readonly window: readonly PromptRef[];
}
export interface CompiledPrompt {
  readonly request: ModelRequest;
  /** SHA-256 over the preamble's digest and the texts of all messages. */
  readonly digest: string;
}

interface Link {
  readonly ref: PromptRef;
  readonly message: PromptMessage | null;
  /** Kept, because after a trim everything that stays is hashed again. */
  readonly text: string;
  readonly calls: OpenCalls;
}

/**
 * Keeps the links of the newest prompt, and so the texts of it: a host that erases an event must `clear` it.
 * `read` gives an event by seq, from the log.
 */
export class PromptCompiler {
  readonly #hasher: Hasher;
  readonly #read: (seq: number) => ThreadEvent | null;
  #head: { readonly key: string; readonly digest: string } | null = null;
  #links: Link[] = [];
  #messages: readonly PromptMessage[] = [];
  /** Over the head and the texts of all links; null when it has to start over. */
  #hash: RunningHash | null = null;

  constructor(hasher: Hasher, read: (seq: number) => ThreadEvent | null) {
    this.#hasher = hasher;
    this.#read = read;
  }

  /** Throws `TypeError` when a reference names no event: the caller's window is not of this log. */
  compile(source: PromptSource): CompiledPrompt {
    const head = this.#headFor(source);
    const links = this.#links;
    const shared = this.#sharedLength(source.window);
    // What trimming moved is not compiled again, only hashed again.
    const moved = new Map(links.splice(shared).map((link) => [link.ref[0], link]));
    if (moved.size > 0) {
      this.#messages = toMessages(links);
      this.#hash = null;
    }
    try {
      for (const ref of source.window.slice(shared)) {
        links.push(this.#next(ref, links.at(-1) ?? null, moved));
      }
    } catch (error) {
      // Half a prompt must not look like the last one.
      this.clear();
      throw error;
    }
    const added = links.slice(shared);
    this.#messages = this.#messages.concat(toMessages(added));
    const request = { ...preamble(source.manifest, source.output), messages: this.#messages };
    return { request, digest: this.#digest(head, added) };
  }

  clear(): void {
    this.#links = [];
    this.#messages = [];
    this.#head = null;
    this.#hash = null;
  }

  #digest(head: string, added: readonly Link[]): string {
    const isNew = this.#hash === null;
    const hash = (this.#hash ??= this.#hasher.start());
    const texts = (isNew ? this.#links : added).map((link) => link.text).join("");
    hash.update(utf8(isNew ? head + texts : texts));
    return hash.digest();
  }

  #headFor({ manifest, definition, output }: PromptSource): string {
    const key = `${definition} ${output === null ? "" : canonicalJson(output as unknown as Json)}`;
    if (this.#head?.key === key) return this.#head.digest;
    const digest = preambleDigest(this.#hasher, COMPILER_VERSION, { manifest, output });
    this.#head = { key, digest };
    this.#hash = null;
    return digest;
  }

  #sharedLength(window: readonly PromptRef[]): number {
    let shared = 0;
    while (isSameRef(this.#links[shared]?.ref, window[shared])) shared += 1;
    return shared;
  }

  #next(ref: PromptRef, previous: Link | null, moved: ReadonlyMap<number, Link>): Link {
    const open = previous?.calls ?? NO_CALLS;
    const { message, text } = this.#messageOf(ref, open, moved.get(ref[0]));
    return { ref, message, text, calls: callsAfter(message, open) };
  }

  #messageOf(
    ref: PromptRef,
    open: OpenCalls,
    kept: Link | undefined,
  ): Pick<Link, "message" | "text"> {
    if (kept !== undefined && isSameRef(kept.ref, ref)) return kept;
    const message = this.#compile(ref, open);
    return { message, text: message === null ? "" : messageText(message) };
  }

  #compile(ref: PromptRef, calls: OpenCalls): PromptMessage | null {
    const event = this.#read(ref[0]);
    if (event === null) throw new TypeError(`no event ${ref[0]} to compile a prompt from`);
    return compileMessage(ref, event, calls);
  }
}

function toMessages(links: readonly Link[]): readonly PromptMessage[] {
  return links.flatMap((link) => (link.message === null ? [] : [link.message]));
}

function callsAfter(message: PromptMessage | null, before: OpenCalls): OpenCalls {
  if (message === null || message.role === "tool") return before;
  if (message.role === "user") return NO_CALLS;
  const calls = message.content.flatMap((part) =>
    part.type === "call" ? [[part.callId, part.name] as const] : [],
  );
  return calls.length === 0 ? NO_CALLS : new Map(calls);
}
