/**
 * ThreadHarness: one thread on the real log, workspace and stores over Node's SQLite, with time, ids and the outside world
 * in a test's hands. `reopen()` is a crash: the runtime is dropped as it is, a new one opens on the same database.
 */
import { SqliteCommandStore } from "#adapters/command-store/sqlite-command-store.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { ZodJsonSchemas } from "#adapters/json-schema/zod-json-schemas.ts";
import { FilesProjection } from "#adapters/projections/files-projection.ts";
import { TOTALS_RULE } from "#kernel/run-totals.ts";
import { RunsProjection } from "#adapters/projections/runs-projection.ts";
import { RunsReader } from "#adapters/projections/runs-reader.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { SqliteStreamBlocks } from "#adapters/stream-blocks/sqlite-stream-blocks.ts";
import { SqliteWorkspace } from "#adapters/workspace/sqlite-workspace.ts";
import { verifyChain } from "#audit/hash-chain.ts";
import type { Receipt } from "#kernel/commands.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type {
  DecisionVerb,
  Delivery,
  ThreadEvent,
  ThreadEvents,
  ThreadEventType,
} from "#kernel/events.ts";
import type { AgentManifest, ToolPin } from "#kernel/manifest.ts";
import type { LedgerStub } from "#ports/budget-ledger.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { Model, OutputSpec } from "#ports/model.ts";
import type { Prices } from "#ports/prices.ts";
import type { Tool } from "#ports/tool.ts";
import type { RunView } from "#ports/thread-gateway.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import { NO_PRICES } from "./free-prices.ts";
import { OPEN_BOUNDARY, type Boundary, type GateHooks } from "#runner/gate-hooks.ts";
import type { Timers } from "#runner/timers.ts";
import { LeaseBudget } from "#runner/lease-budget.ts";
import { ThreadRuntime, type DriveResult, type SubmitRefusal } from "#runner/thread-runtime.ts";
import { trusted, type ThreadAddress } from "#shared/ids.ts";
import { canonicalJson, utf8, type Json } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import { ManualClock } from "./manual-clock.ts";
import { ManualTimers } from "./manual-timers.ts";
import { openNodeLog } from "./node-log.ts";
import { SeededIds } from "./seeded-ids.ts";

export interface HarnessOptions {
  readonly model: Model | null;
  readonly tools?: readonly Tool[];
  readonly manifest?: Partial<AgentManifest>;
  readonly hooks?: Partial<GateHooks>;
  readonly prices?: Prices;
  readonly boundary?: Boundary;
  readonly database?: NodeSqlite;
  /** Its tenant's ledger: then budgets hold as in production. */
  readonly ledger?: LedgerStub;
  readonly thread?: string;
  readonly clock?: ManualClock;
  /** Of its ids: threads of one tenant have different ones. */
  readonly seed?: number;
  /** For tests of several logs: ids are minted alike in every harness. */
  readonly logId?: string;
}
export interface Sending {
  readonly messageId?: string;
  readonly runId?: string;
  readonly delivery?: Delivery;
  readonly output?: OutputSpec | null;
  readonly key?: string | null;
}

const HASHER = new NodeHasher();

export class ThreadHarness {
  readonly clock: ManualClock;
  readonly timers: ManualTimers;
  readonly address: ThreadAddress;
  readonly ledger: LedgerStub | null;
  readonly database: NodeSqlite;
  readonly manifest: AgentManifest;
  tools: ReadonlyMap<string, Tool>;
  boundary: Boundary;
  hooks: GateHooks;
  model: Model | null;
  /** Models of single routes; all others have `model`. */
  readonly routes = new Map<string, Model>();
  runtime: ThreadRuntime;
  log: EventLog<ThreadEvents>;
  workspace: SqliteWorkspace;
  runs: RunsReader;
  readonly #ids: SeededIds;
  readonly #logId: string | undefined;
  readonly #prices: Prices;
  #sent = 0;

  constructor(options: HarnessOptions) {
    const tools = options.tools ?? [];
    this.clock = options.clock ?? new ManualClock();
    this.timers = new ManualTimers(this.clock);
    this.#ids = new SeededIds(options.seed ?? 1);
    this.ledger = options.ledger ?? null;
    this.model = options.model;
    this.database = options.database ?? new NodeSqlite();
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.manifest = { ...MANIFEST, tools: tools.map(toPin), ...options.manifest };
    this.address = {
      tenant: trusted("acme"),
      agent: trusted(this.manifest.name),
      thread: trusted(options.thread ?? "main"),
    };
    this.hooks = { ...DEFAULT_HOOKS, ...options.hooks };
    this.boundary = options.boundary ?? OPEN_BOUNDARY;
    this.#logId = options.logId;
    this.#prices = options.prices ?? NO_PRICES;
    ({
      runtime: this.runtime,
      log: this.log,
      workspace: this.workspace,
      runs: this.runs,
    } = this.#open());
    if (!this.runtime.state.created) this.create();
  }

  get definition(): string {
    return digest(this.manifest as unknown as Json);
  }

  /** The process dies here and starts again: nothing of the old one may write any more. */
  reopen(): void {
    ({
      runtime: this.runtime,
      log: this.log,
      workspace: this.workspace,
      runs: this.runs,
    } = this.#open());
  }

  create(): void {
    const created = this.runtime.submit(
      { type: "create_thread", owner: "usr_1", title: null },
      { actor: "usr_1", idempotencyKey: null, bodyDigest: "" },
    );
    if (!created.ok) throw new Error(created.error.reason);
  }

  send(text: string, sending: Sending = {}): Result<Receipt, SubmitRefusal> {
    this.#sent += 1;
    const {
      messageId = `msg_${this.#sent}`,
      runId = `run_${this.#sent}`,
      delivery = "queue",
      output = null,
      key = null,
    } = sending;
    const { manifest, definition } = this;
    const body = digest({ text, delivery, output } as unknown as Json);
    return this.runtime.submit(
      { type: "send_message", messageId, runId, text, delivery, output, manifest, definition },
      { actor: "usr_1", idempotencyKey: key, bodyDigest: body },
    );
  }

  cancel(runId: string): Result<Receipt, SubmitRefusal> {
    const context = { actor: "usr_1", idempotencyKey: null, bodyDigest: digest({ runId }) };
    return this.runtime.submit({ type: "cancel_run", runId, reason: "enough" }, context);
  }

  halt(): Result<Receipt, SubmitRefusal> {
    const context = { actor: "key_op", idempotencyKey: null, bodyDigest: "" };
    const command = { type: "halt_thread", reason: "it loops", at: this.clock.now() } as const;
    return this.runtime.submit(command, context);
  }
  resume(): Result<Receipt, SubmitRefusal> {
    const context = { actor: "key_op", idempotencyKey: null, bodyDigest: "" };
    return this.runtime.submit({ type: "resume_thread", reason: null }, context);
  }

  /** Decides as `usr_1`; the answer is taken as it is, as its schema is the host's to check. */
  decide(
    approvalId: string,
    decision: DecisionVerb,
    said: { readonly comment?: string; readonly answer?: Json } = {},
  ): Result<Receipt, SubmitRefusal> {
    const { comment = null, answer = null } = said;
    const at = this.clock.now();
    return this.runtime.submit(
      { type: "decide_approval", approvalId, decision, comment, answer, messageId: null, at },
      {
        actor: "usr_1",
        idempotencyKey: null,
        bodyDigest: digest({ approvalId, decision, comment, answer }),
      },
    );
  }
  /** Ids of the approvals that nobody has decided, oldest first. */
  openApprovals(): readonly string[] {
    const decided = new Set(this.of("approval.decided").map(({ header }) => header.cause));
    return this.of("approval.requested")
      .map(({ header }) => header.id)
      .filter((id) => !decided.has(id));
  }

  /** Drives until nothing is left, moving the clock to each time it waits for. */
  async finish(): Promise<DriveResult> {
    for (let round = 0; round < 100; round += 1) {
      const result = await this.runtime.drive();
      if (result.next === "idle") return result;
      this.clock.set(Math.max(this.clock.now(), result.at));
    }
    throw new Error("the thread does not come to rest");
  }

  events(): readonly ThreadEvent[] {
    return this.log.read({ limit: 100_000 });
  }
  types(): readonly ThreadEventType[] {
    return this.events().map((event) => event.type);
  }
  of<T extends ThreadEventType>(type: T): readonly Extract<ThreadEvent, { readonly type: T }>[] {
    return this.events().filter(
      (event): event is Extract<ThreadEvent, { readonly type: T }> => event.type === type,
    );
  }
  run(runId: string): RunView {
    const view = this.runs.get(runId);
    if (view === null) throw new Error(`no run ${runId}`);
    return this.#withText(view);
  }
  /** Oldest first. */
  listRuns(): readonly RunView[] {
    return this.runs.list({ after: 0, limit: 1_000 }).items.map((view) => this.#withText(view));
  }
  file(path: string): string | null {
    const content = this.workspace.reader.read(path);
    return content === null ? null : new TextDecoder().decode(content);
  }
  /** Null when the chain verifies. */
  chainFault(): string | null {
    const verified = verifyChain(this.log.raw({ limit: 100_000 }), HASHER, {
      head: this.log.head(),
    });
    return verified.ok ? null : `${verified.error.reason} at ${verified.error.seq}`;
  }

  #hooks(logId: string): GateHooks {
    const { ledger, clock, address } = this;
    if (ledger === null) return this.hooks;
    // Between two questions to a ledger no test has anything to do.
    const timers: Timers = {
      after: (_ms, fire) => {
        void Promise.resolve().then(fire);
        return () => undefined;
      },
      rest: () => undefined,
    };
    const thread = { ...address, logId, timers, owner: "usr_1" };
    return { ...this.hooks, budget: new LeaseBudget({ thread, clock, ledger: () => ledger }) };
  }

  /** As a reader of the thread is shown it: text and output lie in the run's last event. */
  #withText(view: RunView): RunView {
    const event = view.endSeq === null ? null : this.log.get(view.endSeq);
    if (event?.type !== "run.completed" || event.payload === null) return view;
    return { ...view, text: event.payload.text, output: event.payload.output };
  }

  #open(): {
    runtime: ThreadRuntime;
    log: EventLog<ThreadEvents>;
    workspace: SqliteWorkspace;
    runs: RunsReader;
  } {
    const { database, clock } = this;
    const projections = [new FilesProjection(database), new RunsProjection(database, TOTALS_RULE)];
    const defaults = { ...this.address };
    const { log, blobs } = openNodeLog(
      THREAD_CATALOGUE,
      {
        hasher: HASHER,
        ids: this.#ids,
        projections,
        defaults,
        ...(this.#logId === undefined ? {} : { logId: this.#logId }),
      },
      database,
    );
    const workspace = new SqliteWorkspace({ sql: database, blobs, hasher: HASHER, clock });
    const runtime = ThreadRuntime.open({
      log,
      hasher: HASHER,
      ids: this.#ids,
      clock,
      timers: this.timers,
      models: { resolve: (route) => this.routes.get(route) ?? this.model },
      tools: (name) => this.tools.get(name) ?? null,
      sandbox: {
        id: "none",
        run: async () => Promise.reject(new Error("no sandbox in this test")),
      },
      workspace,
      schemas: new ZodJsonSchemas(),
      hooks: this.#hooks(log.logId),
      prices: this.#prices,
      commands: new SqliteCommandStore(database),
      blocks: new SqliteStreamBlocks(database),
      boundary: { cross: (point, effectId) => this.boundary.cross(point, effectId) },
      transact: (work) => database.transaction(work),
    });
    return { runtime, log, workspace, runs: new RunsReader(database, () => runtime.state.run) };
  }
}

export const MANIFEST: AgentManifest = {
  name: "helper",
  description: "helps",
  instructions: "Help.",
  route: "test/script",
  settings: { maxOutputTokens: 1_000, temperature: null },
  contextTokens: 32_000,
  limits: { maxSteps: 50, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 10 },
  retry: { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 1_000 },
  tools: [],
  maxRepairs: 2,
};

export function toPin({
  name,
  description,
  version,
  inputSchema,
  effect,
  approval,
  limits,
}: Tool): ToolPin {
  return { name, description, version, inputSchema, effect, approval, limits };
}

function digest(value: Json): string {
  return HASHER.sha256(utf8(canonicalJson(value)));
}
