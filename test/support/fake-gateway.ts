/**
 * ThreadGateway in memory: owners, idempotency keys, files and a stream that a test feeds by hand. It runs no agent.
 *
 * As in the object, every method asks first whether the caller may see the thread, and a foreign thread is a missing one.
 */
import type {
  Caller,
  Reply,
  SendMessage,
  StreamFrame,
  ThreadGateway,
  ThreadStub,
  ThreadView,
} from "#ports/thread-gateway.ts";
import type { ScheduleView } from "#ports/schedule-stub.ts";
import type { FileStat } from "#ports/workspace.ts";
import type { Receipt } from "#kernel/commands.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { parseWorkspacePath } from "#sandbox/workspace-paths.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";
import { toObjectName } from "#shared/ids.ts";
import { ok } from "#shared/result.ts";
import { failure, fakeAudit } from "./fake-audit.ts";
import { fakeSchedules } from "./fake-schedules.ts";
import { MAIN, runView } from "./fake-views.ts";

const hasher = new NodeHasher();

interface FakeThread {
  readonly owner: string;
  readonly title: string | null;
  state: Json;
  halted: ThreadView["halted"];
  seq: number;
  readonly texts: string[];
  readonly runs: string[];
  readonly files: Map<string, Uint8Array>;
  readonly keys: Map<string, { readonly body: string; readonly reply: Reply<Receipt> }>;
  readonly erased: number[];
}

export class FakeGateway implements ThreadGateway {
  readonly threads = new Map<string, FakeThread>();
  /** `method objectName` of every call, so that a test can assert what reached the object. */
  readonly calls: string[] = [];
  /** Upgrades that reached the object. */
  readonly upgrades: Request[] = [];
  readonly tickets: string[] = [];
  /** Frames that every stream sends, in order. */
  readonly frames: StreamFrame[] = [];
  readonly streamsOpened: {
    readonly from: string;
    readonly runId: string | null;
    readonly deltas: boolean;
  }[] = [];
  streamsCancelled = 0;
  /** When set, streams stay open after `frames`. */
  stayOpen = false;
  /** What the next call of any method throws. */
  throwNext: Error | null = null;
  /** Replaces the content of a file after so many reads, to play a concurrent write. */
  rewriteAfterReads: number | null = null;

  readonly #schedules = new Map<string, Map<string, ScheduleView>>();

  #schedulesOf(name: string): Map<string, ScheduleView> {
    const known = this.#schedules.get(name) ?? new Map<string, ScheduleView>();
    this.#schedules.set(name, known);
    return known;
  }

  thread(address: ThreadAddress): ThreadStub {
    const name = toObjectName(address);
    const threads = this.threads;
    const enter = (method: string): void => {
      this.calls.push(`${method} ${name}`);
      const thrown = this.throwNext;
      this.throwNext = null;
      if (thrown !== null) throw thrown;
    };
    const find = (method: string, caller: Caller): FakeThread | null => {
      enter(method);
      const thread = threads.get(name);
      if (thread === undefined) return null;
      return caller.kind !== "user" || thread.owner === caller.id ? thread : null;
    };
    const missing = () => failure("not_found", `thread ${name}`);
    const record = (
      thread: FakeThread,
      key: string | null,
      body: Json,
      apply: () => Receipt,
    ): Reply<Receipt> => {
      const text = canonicalJson(body);
      const known = key === null ? undefined : thread.keys.get(key);
      if (known !== undefined)
        return known.body === text ? known.reply : failure("idempotency_conflict");
      thread.seq += 1;
      const reply = ok(apply());
      if (key !== null) thread.keys.set(key, { body: text, reply });
      return reply;
    };
    const view = (thread: FakeThread): ThreadView => ({
      agent: address.agent,
      thread: address.thread,
      title: thread.title,
      owner: thread.owner,
      head: { seq: thread.seq, hash: "f".repeat(64) },
      base: { seq: 0, hash: "0".repeat(64) },
      activeRun: null,
      queued: 0,
      halted: thread.halted,
      plan: [],
      state: thread.state,
      writable: true,
      readOnlyReason: null,
    });
    const receipt = (thread: FakeThread): Receipt => ({
      seq: thread.seq,
      runId: null,
      messageId: null,
      disposition: "recorded",
    });
    const stat = (thread: FakeThread, path: string): FileStat => {
      const content = thread.files.get(path) ?? new Uint8Array();
      return { path, bytes: content.byteLength, digest: hasher.sha256(content), updatedAt: 1 };
    };
    return {
      /** Node has no sockets of the platform: what matters here is which upgrades get this far. */
      fetch: async (request) => {
        enter("fetch");
        this.upgrades.push(request);
        const { ok: _ok, error } = missing();
        return Response.json(error, { status: 400 });
      },
      storeTicket: async (caller, { ticket }) => {
        const thread = find("storeTicket", caller);
        if (thread === null) return missing();
        this.tickets.push(ticket);
        return ok(null);
      },
      /** It runs no agent, so it has no run that anybody could be told of. */
      putPushConfig: async (caller) => (find("putPushConfig", caller), missing()),
      pushConfigs: async (caller) => (find("pushConfigs", caller), missing()),
      dropPushConfig: async (caller) => (find("dropPushConfig", caller), missing()),
      chatSnapshot: async (caller) => {
        const thread = find("chatSnapshot", caller);
        return thread === null ? missing() : ok({ views: [], open: [] });
      },
      create: async (caller, title, key) => {
        enter("create");
        const known = threads.get(name);
        if (known !== undefined) {
          if (caller.kind === "user" && known.owner !== caller.id) return missing();
          if (key === null) return ok(view(known));
          const first = known.keys.get(key);
          if (first === undefined) return failure("conflict");
          return first.body === canonicalJson({ title })
            ? ok(view(known))
            : failure("idempotency_conflict");
        }
        const thread: FakeThread = {
          owner: caller.id,
          title,
          state: {},
          seq: 1,
          texts: [],
          runs: [],
          files: new Map(),
          halted: null,
          keys: new Map(),
          erased: [],
        };
        threads.set(name, thread);
        if (key !== null)
          thread.keys.set(key, { body: canonicalJson({ title }), reply: ok(receipt(thread)) });
        return ok(view(thread));
      },
      view: async (caller) => {
        const thread = find("view", caller);
        return thread === null ? missing() : ok(view(thread));
      },
      send: async (caller, message: SendMessage, key) => {
        const thread = find("send", caller);
        if (thread === null) return missing();
        const body = {
          text: message.text,
          delivery: message.delivery,
          messageId: message.messageId,
        };
        const id = key ?? (message.messageId === null ? null : `message:${message.messageId}`);
        return record(thread, id, body, () => {
          thread.texts.push(message.text);
          const runId = `run_${thread.texts.length}`;
          thread.runs.push(runId);
          const messageId = message.messageId ?? `msg_${thread.texts.length}`;
          return { seq: thread.seq, runId, messageId, disposition: "started" };
        });
      },
      cancel: async (caller, runId) => {
        const thread = find("cancel", caller);
        if (thread === null) return missing();
        if (!thread.runs.includes(runId)) return failure("not_found", "run");
        return record(thread, null, { runId }, () => ({ ...receipt(thread), runId }));
      },
      halt: async (caller, reason, key) => {
        const thread = find("halt", caller);
        if (thread === null) return missing();
        return record(thread, key, { reason }, () => {
          thread.halted ??= { at: 1, by: caller.id, reason };
          return receipt(thread);
        });
      },
      resume: async (caller, reason, key) => {
        const thread = find("resume", caller);
        if (thread === null) return missing();
        return record(thread, key, { reason }, () => {
          thread.halted = null;
          return receipt(thread);
        });
      },
      regenerate: async (caller, { messageId, idempotencyKey }) => {
        const thread = find("regenerate", caller);
        if (thread === null) return missing();
        return record(thread, idempotencyKey, { messageId }, () => this.#branch(thread));
      },
      edit: async (caller, { messageId, text, idempotencyKey }) => {
        const thread = find("edit", caller);
        if (thread === null) return missing();
        return record(thread, idempotencyKey, { messageId, text }, () => this.#branch(thread));
      },
      clearWindow: async (caller, idempotencyKey) => {
        const thread = find("clearWindow", caller);
        if (thread === null) return missing();
        return record(thread, idempotencyKey, { clear: true }, () => receipt(thread));
      },
      branches: async (caller) => (find("branches", caller) === null ? missing() : ok([MAIN])),
      selectBranch: async (caller, branch, idempotencyKey) => {
        const thread = find("selectBranch", caller);
        if (thread === null) return missing();
        if (branch !== MAIN.branch) return failure("not_found", "branch");
        return record(thread, idempotencyKey, { branch }, () => ({ ...receipt(thread), branch }));
      },
      approvals: async (caller) =>
        find("approvals", caller) === null ? missing() : ok({ items: [], next: null }),
      approval: async (caller) => {
        find("approval", caller);
        return missing();
      },
      decide: async (caller) => {
        find("decide", caller);
        return missing();
      },
      putState: async (caller, state, key) => {
        const thread = find("putState", caller);
        if (thread === null) return missing();
        return record(thread, key, { state }, () => {
          thread.state = state;
          return receipt(thread);
        });
      },
      run: async (caller, runId) => {
        const thread = find("run", caller);
        return thread === null || !thread.runs.includes(runId) ? missing() : ok(runView(runId));
      },
      runs: async (caller) => {
        const thread = find("runs", caller);
        return thread === null ? missing() : ok({ items: thread.runs.map(runView), next: null });
      },
      messages: async (caller) => {
        const thread = find("messages", caller);
        if (thread === null) return missing();
        const items = thread.texts.map((text, index) => ({
          seq: index + 1,
          messageId: `msg_${index + 1}`,
          runId: null,
          role: "user" as const,
          at: 1,
          content: text,
          branch: "main",
          superseded: false,
        }));
        return ok({ items, next: null });
      },
      events: async (caller, page) => {
        const thread = find("events", caller);
        if (thread === null) return missing();
        const events = this.frames.flatMap((frame) =>
          frame.type === "event" ? [frame.event] : [],
        );
        return ok({
          items: events.filter((event) => event.header.seq > page.after).slice(0, page.limit),
          next: null,
        });
      },
      files: async (caller, prefix) => {
        const thread = find("files", caller);
        if (thread === null) return missing();
        return ok(
          [...thread.files.keys()]
            .filter((path) => path.startsWith(prefix))
            .map((path) => stat(thread, path)),
        );
      },
      readFile: async (caller, path, range) => {
        const thread = find("readFile", caller);
        if (thread === null) return missing();
        if (!parseWorkspacePath(path).ok) return failure("file_path_invalid");
        const content = thread.files.get(path);
        if (content === undefined) return failure("not_found", "file");
        const reply = ok({
          stat: stat(thread, path),
          content: content.slice(range.offset, range.offset + range.limit),
        });
        if (this.rewriteAfterReads !== null && (this.rewriteAfterReads -= 1) === 0) {
          thread.files.set(path, new Uint8Array(content.byteLength));
        }
        return reply;
      },
      writeFile: async (caller, { path, content, idempotencyKey: key }) => {
        const thread = find("writeFile", caller);
        if (thread === null) return missing();
        if (!parseWorkspacePath(path).ok) return failure("file_path_invalid");
        const written = record(thread, key, { path, digest: hasher.sha256(content) }, () => {
          thread.files.set(path, content);
          return receipt(thread);
        });
        return written.ok ? ok({ receipt: written.value, stat: stat(thread, path) }) : written;
      },
      deleteFile: async (caller, path) => {
        const thread = find("deleteFile", caller);
        if (thread === null) return missing();
        if (!thread.files.delete(path)) return failure("not_found", "file");
        return record(thread, null, { path }, () => receipt(thread));
      },
      stream: async (caller, options) => {
        if (find("stream", caller) === null) return missing();
        const { seq, attempt, offset } = options.from;
        this.streamsOpened.push({
          from: `${seq}.${attempt}.${offset}`,
          runId: options.runId,
          deltas: options.deltas,
        });
        return ok(this.#stream(options.from.seq, options.deltas));
      },
      askLease: () => Promise.reject(new Error("no route asks for leases")),
      ...fakeSchedules(this.#schedulesOf(name), find),
      ...fakeAudit(find),
      redeliver: async (caller) => (find("redeliver", caller) === null ? missing() : ok(null)),
    };
  }

  #branch(thread: FakeThread): Receipt {
    const runId = `run_${thread.runs.length + 1}`;
    thread.runs.push(runId);
    return { seq: thread.seq, runId, messageId: "msg_1", disposition: "started", branch: "br_1" };
  }

  #stream(after: number, deltas: boolean): ReadableStream<Uint8Array> {
    const rest = this.frames.filter(
      (frame) => frame.cursor.seq > after && (deltas || frame.type !== "delta"),
    );
    return new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const frame = rest.shift();
        if (frame !== undefined) controller.enqueue(utf8(`${JSON.stringify(frame)}\n`));
        else if (!this.stayOpen) controller.close();
        else return new Promise<void>(() => {});
        return undefined;
      },
      cancel: () => {
        this.streamsCancelled += 1;
      },
    });
  }
}
