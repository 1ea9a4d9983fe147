/**
 * TaskWriter: a task and its updates from the events of one run. What it makes of a log is the same live and read again, so
 * polling, streams and notifications cannot disagree.
 *
 * P94 the first thing told is the task as it stands; every update after it applies to that. One artifact, `answer`, holds
 * what the agent says: its first piece in each step, and after a discarded attempt, takes the place of what was told
 * before, so a client that follows `append` ends with the recorded answer exactly.
 */
import type { ThreadEvents } from "#kernel/events.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import { contentTypeOf } from "#protocols/common/content-types.ts";
import type { SubscriptionItem, TurnEnd } from "#protocols/common/turn.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import type { Waiting } from "./decode.ts";
import { toTaskId, type TaskPlace } from "./ids.ts";
import {
  JSON_TYPE,
  MAX_HISTORY,
  type Artifact,
  type ArtifactUpdate,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskState,
  type TaskStatus,
} from "./wire.ts";

type Asked = ThreadEvents["approval.requested"];
type Decided = ThreadEvents["approval.decided"];

export const ANSWER = "answer";

export interface TaskFrame {
  readonly place: TaskPlace;
  /** Address of a file of the thread's workspace. */
  readonly fileUrl: (path: string) => string;
}

export class TaskWriter {
  readonly #frame: TaskFrame;
  readonly #taskId: string;
  readonly #history: Message[] = [];
  readonly #files = new Map<string, Artifact>();
  readonly #open = new Map<string, Asked | null>();
  #state: TaskState = "TASK_STATE_SUBMITTED";
  #message: Message | null = null;
  #at = 0;
  #metadata: JsonObject = {};
  #answer: readonly Part[] = [];
  /** Of the step at hand, what was told of `answer`; null where the next piece takes the place of all before. */
  #told: string | null = null;
  #step = 0;
  #called = false;
  /** Before: nothing is told, because the task itself will say it. */
  #live = false;

  constructor(frame: TaskFrame) {
    this.#frame = frame;
    this.#taskId = toTaskId(frame.place);
  }

  read(item: SubscriptionItem): readonly StreamResponse[] {
    const told = this.#read(item);
    if (this.#live) return told;
    if (item.type !== "caught_up" && item.type !== "end") return [];
    this.#live = true;
    return [{ task: this.task(null) }];
  }

  get state(): TaskState {
    return this.#state;
  }

  /** A message of this id has reached the run. */
  hasHeard(messageId: string): boolean {
    return this.#history.some((said) => said.messageId === messageId && said.role === "ROLE_USER");
  }

  /** The answer as a message, where the run did nothing but say it: no calls, no files, one message. Null: it is a task. */
  reply(): Message | null {
    const isPlain =
      this.#state === "TASK_STATE_COMPLETED" && !this.#called && this.#history.length === 1;
    if (!isPlain || this.#files.size > 0 || this.#answer.length === 0) return null;
    return this.#fromAgent(`${this.#frame.place.run}-reply`, this.#answer);
  }

  /** What waits for a person. */
  get waiting(): readonly Waiting[] {
    return [...this.#open].map(([approvalId, asked]) => ({
      approvalId,
      kind: asked?.kind ?? null,
      answerSchema: asked?.answerSchema ?? null,
    }));
  }

  /** With the newest `historyLength` messages; null for all, up to a bound. */
  task(historyLength: number | null): Task {
    const artifacts = this.#artifacts();
    const history = this.#history.slice(-Math.min(historyLength ?? MAX_HISTORY, MAX_HISTORY));
    return {
      id: this.#taskId,
      contextId: this.#frame.place.thread,
      status: this.#status(),
      ...(artifacts.length === 0 ? {} : { artifacts }),
      ...(history.length === 0 || historyLength === 0 ? {} : { history }),
      ...(Object.keys(this.#metadata).length === 0 ? {} : { metadata: this.#metadata }),
    };
  }

  #artifacts(): readonly Artifact[] {
    const answer =
      this.#answer.length > 0
        ? this.#answer
        : this.#told !== null && this.#told !== ""
          ? [{ text: this.#told }]
          : [];
    return [...this.#files.values(), ...(answer.length === 0 ? [] : [artifact(answer)])];
  }

  #status(): TaskStatus {
    return {
      state: this.#state,
      ...(this.#message === null ? {} : { message: this.#message }),
      timestamp: new Date(this.#at).toISOString(),
    };
  }

  #read(item: SubscriptionItem): readonly StreamResponse[] {
    switch (item.type) {
      case "text":
        return this.#said(item.step, item.text);
      case "discard":
        return this.#blank();
      case "answered":
        return this.#answered(item.step, item.answer);
      case "event":
        return this.#event(item.event);
      case "waiting":
        return this.#waiting();
      case "end":
        this.#at = item.at ?? this.#at;
        return this.#end(item.end);
      case "caught_up":
        return [];
    }
  }

  #said(step: number, text: string): readonly StreamResponse[] {
    if (step !== this.#step) this.#superseded(step);
    const offset = this.#told?.length ?? null;
    this.#told = (this.#told ?? "") + text;
    return [this.#piece([{ text }], offset === null ? {} : { append: true, offset })];
  }

  /** An answer that the run went on from, such as one before a message that steered it. */
  #superseded(step: number): void {
    const { place } = this.#frame;
    if (this.#told !== null && this.#told !== "")
      this.#history.push(this.#fromAgent(`${place.run}-${this.#step}`, [{ text: this.#told }]));
    this.#told = null;
    this.#step = step;
  }

  /** What was told of the answer is void. */
  #blank(): readonly StreamResponse[] {
    const isVoid = this.#told !== null && this.#told !== "";
    this.#told = null;
    return isVoid ? [this.#piece([{ text: "" }])] : [];
  }

  /** Words beside calls are no answer: they go into the history. */
  #answered(
    step: number,
    answer: ThreadEvents["model.answered"] | null,
  ): readonly StreamResponse[] {
    const parts = answer?.parts ?? [];
    if (!parts.some(({ type }) => type === "call")) return [];
    this.#called = true;
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const blanked = this.#blank();
    if (text.trim() === "") return blanked;
    const { place } = this.#frame;
    this.#history.push(this.#fromAgent(`${place.run}-${step}`, [{ text }]));
    return blanked;
  }

  #event({ header, payload }: EventView): readonly StreamResponse[] {
    // The catalogue names the shape of each type's payload; an erased one is null.
    const content = payload as never;
    switch (header.type) {
      case "input.received":
        if (this.#at === 0) this.#at = header.at;
        return this.#heard(header.id, content);
      case "run.started":
        return this.#works(header.at);
      case "approval.requested":
        this.#at = header.at;
        this.#open.set(header.id, content);
        return [];
      case "approval.decided":
        return this.#decided(header.cause ?? "", { id: header.id, at: header.at, by: content });
      case "file.written":
        return this.#written(content);
      case "file.deleted":
        this.#files.delete((content as ThreadEvents["file.deleted"] | null)?.path ?? "");
        return [];
      default:
        return [];
    }
  }

  #heard(id: string, input: ThreadEvents["input.received"] | null): readonly StreamResponse[] {
    const text = input?.text ?? "(erased)";
    this.#history.push(this.#fromUser(input?.messageId ?? id, [{ text }]));
    return [];
  }

  #works(at: number): readonly StreamResponse[] {
    this.#state = "TASK_STATE_WORKING";
    this.#message = null;
    this.#at = at;
    return [this.#update()];
  }

  /** Nothing but a person moves the task. */
  #waiting(): readonly StreamResponse[] {
    this.#state = "TASK_STATE_INPUT_REQUIRED";
    const asked = [...this.#open];
    this.#message = this.#fromAgent(asked.at(-1)?.[0] ?? this.#taskId, toQuestion(asked));
    return [this.#update()];
  }

  #decided(
    approval: string,
    { id, at, by }: { readonly id: string; readonly at: number; readonly by: Decided | null },
  ): readonly StreamResponse[] {
    const asked = this.#open.get(approval);
    if (asked === undefined) return [];
    this.#open.delete(approval);
    this.#history.push(this.#fromAgent(approval, toQuestion([[approval, asked]])));
    const answer = toAnswerParts(by);
    if (answer.length > 0) this.#history.push(this.#fromUser(by?.messageId ?? id, answer));
    return this.#works(at);
  }

  #written(file: ThreadEvents["file.written"] | null): readonly StreamResponse[] {
    if (file === null) return [];
    const { path } = file;
    const url = this.#frame.fileUrl(path);
    const filename = path.split("/").at(-1) ?? path;
    const written: Artifact = {
      artifactId: `file:${path}`,
      name: path,
      parts: [{ url, filename, mediaType: contentTypeOf(path).split(";")[0] ?? "" }],
    };
    this.#files.set(path, written);
    return [this.#artifactUpdate(written, { lastChunk: true })];
  }

  #end(end: TurnEnd): readonly StreamResponse[] {
    this.#message = null;
    switch (end.type) {
      case "completed":
        return this.#completed(end.payload);
      case "failed": {
        const { reason = "internal", message = "The run failed." } = end.payload ?? {};
        this.#metadata = { reason };
        return this.#ended("TASK_STATE_FAILED", message);
      }
      case "cancelled":
        return this.#ended("TASK_STATE_CANCELED", end.payload?.reason ?? null);
      default:
        return [];
    }
  }

  #completed(payload: ThreadEvents["run.completed"] | null): readonly StreamResponse[] {
    const { finish = "stop", text = "", output = null } = payload ?? {};
    const told = this.#told;
    const data = output ?? toData(text);
    this.#answer = data !== null ? [{ data, mediaType: JSON_TYPE }] : text === "" ? [] : [{ text }];
    // Whoever followed has the text already, and hears that nothing more comes.
    const last =
      data === null && told === text
        ? this.#piece([{ text: "" }], { append: true, lastChunk: true, offset: text.length })
        : this.#piece(this.#answer, { lastChunk: true });
    const isOrdinary = finish === "stop";
    if (!isOrdinary) this.#metadata = { finish };
    const update = this.#ended(
      "TASK_STATE_COMPLETED",
      isOrdinary ? null : `The run ended early: ${finish}.`,
    );
    return this.#answer.length === 0 ? update : [last, ...update];
  }

  #ended(state: TaskState, text: string | null): readonly StreamResponse[] {
    const blanked = state === "TASK_STATE_COMPLETED" ? [] : this.#blank();
    this.#state = state;
    if (text !== null) this.#message = this.#fromAgent(`${this.#frame.place.run}-end`, [{ text }]);
    return [...blanked, this.#update()];
  }

  #update(): StreamResponse {
    const { place } = this.#frame;
    const metadata = this.#metadata;
    return {
      statusUpdate: {
        taskId: this.#taskId,
        contextId: place.thread,
        status: this.#status(),
        ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      },
    };
  }

  /** `offset`: characters of the answer that lie before an appended piece, so that nobody has to trust its order. */
  #piece(
    parts: readonly Part[],
    { offset, ...how }: { append?: true; lastChunk?: true; offset?: number } = {},
  ): StreamResponse {
    const metadata = offset === undefined ? {} : { metadata: { offset } };
    return this.#artifactUpdate(artifact(parts), { ...how, ...metadata });
  }

  #artifactUpdate(
    of: Artifact,
    how: Pick<ArtifactUpdate, "append" | "lastChunk" | "metadata">,
  ): StreamResponse {
    const contextId = this.#frame.place.thread;
    return { artifactUpdate: { taskId: this.#taskId, contextId, artifact: of, ...how } };
  }

  #fromAgent(messageId: string, parts: readonly Part[]): Message {
    return this.#toMessage("ROLE_AGENT", messageId, parts);
  }

  #fromUser(messageId: string, parts: readonly Part[]): Message {
    return this.#toMessage("ROLE_USER", messageId, parts);
  }

  #toMessage(role: Message["role"], messageId: string, parts: readonly Part[]): Message {
    return { messageId, contextId: this.#frame.place.thread, taskId: this.#taskId, role, parts };
  }
}

/** An answer that is one JSON object or list is data, whoever asked for it; null for words. */
function toData(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

function artifact(parts: readonly Part[]): Artifact {
  return { artifactId: ANSWER, name: ANSWER, parts };
}

/** In words for a person, and as data for a program that decides. */
function toQuestion(asked: readonly (readonly [string, Asked | null])[]): readonly Part[] {
  const words = asked.map(([, payload]) =>
    payload === null
      ? "(erased)"
      : (payload.question ?? `May ${payload.tool} run with ${JSON.stringify(payload.args)}?`),
  );
  const waiting = asked.map(([id, payload]): JsonObject => {
    if (payload === null) return { id };
    const { kind, tool, args, question, answerSchema, expiresAt } = payload;
    const until = new Date(expiresAt).toISOString();
    return { id, kind, tool, args, question, answerSchema, expiresAt: until };
  });
  return [{ text: words.join("\n") }, { data: { waiting }, mediaType: JSON_TYPE }];
}

/** What the person said; nothing where the runtime decided. */
function toAnswerParts(decided: Decided | null): readonly Part[] {
  if (decided === null) return [{ text: "(erased)" }];
  const { decision, comment, answer } = decided;
  switch (decision) {
    case "answered":
      return [toPart(answer)];
    case "approved":
    case "denied":
      return [{ text: comment === null ? decision : `${decision}: ${comment}` }];
    default:
      return [];
  }
}

function toPart(answer: Json): Part {
  return typeof answer === "string" ? { text: answer } : { data: answer, mediaType: JSON_TYPE };
}
