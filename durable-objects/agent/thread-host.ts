/**
 * ThreadHost: one thread's storage, runtime and answers, without the SDK and without alarms.
 *
 * Keeps: the object's name decides tenant, agent and thread, never the caller (Z3); every method passes the owner check
 * first (Z4, Z5); a command answers after its events are durable (K1). A host whose runtime failed is replaced by a new
 * one, whose log has a newer epoch: that is the whole of recovery.
 */
import type { SpendCheck } from "#ports/spend.ts";
import { CachedPromotedAgents } from "#adapters/agent-versions/cached-promoted-agents.ts";
import { SqliteCommandStore } from "#adapters/command-store/sqlite-command-store.ts";
import { ApprovalsReader } from "#adapters/projections/approvals-projection.ts";
import { ErasuresReader } from "#adapters/projections/erasures-projection.ts";
import { RunsReader } from "#adapters/projections/runs-reader.ts";
import { SqliteStreamBlocks } from "#adapters/stream-blocks/sqlite-stream-blocks.ts";
import type { ObjectStorage } from "#adapters/sql/object-sqlite.ts";
import { SqliteWorkspace } from "#adapters/workspace/sqlite-workspace.ts";
import { callerTool, isCallerPin } from "#authoring/caller-tool.ts";
import { definitionHash } from "#authoring/define-agent.ts";
import { registeredTools, toDefinition } from "#authoring/stored-agent.ts";
import type { CommandContext, Receipt, ThreadCommand } from "#kernel/commands.ts";
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { firstExpiry, isWaitingForHumans, pinOf } from "#kernel/state.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Cron } from "#ports/cron.ts";
import type { EventLog, OutboxConsumer } from "#ports/event-log.ts";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { Prices } from "#ports/prices.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import { BranchHistory } from "#runner/branch-history.ts";
import { OPEN_BOUNDARY, type HookThread } from "#runner/gate-hooks.ts";
import { ThreadRuntime } from "#runner/thread-runtime.ts";
import { SharedTimers, type Timers } from "#runner/timers.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import { AppError } from "#shared/errors.ts";
import { canonicalJson, utf8, type Json } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { openLog, openStorage, type OpenStorage } from "#durable-objects/object-storage.ts";
import { checkAccess } from "./access.ts";
import { threadAnchors, type AuditParts } from "./audit.ts";
import type { ThreadComposition } from "./composition.ts";
import {
  archiveConsumer,
  archiveKey,
  directoryConsumer,
  inboxConsumer,
  largeContent,
} from "./outbox.ts";
import { readProgress } from "./erasure/erasure-progress.ts";
import { ErasureWork } from "./erasure/erasure-work.ts";
import { metricsConsumer } from "./outbox-metrics.ts";
import { pushConsumer } from "./push/push-commands.ts";
import { runIndexConsumer } from "./outbox-runs.ts";
import { checkSpend, spendConsumer } from "./outbox-spend.ts";
import { ledgerConsumer } from "./leases.ts";
import { WebhookQueue } from "./webhook-queue.ts";
import { applyRetention, findRetention, forgetPruned, isAtRest } from "./retention.ts";
import { threadProjections } from "./thread-projections.ts";
import { statusOf } from "./thread-reader.ts";
import { replyWith, toFailure, UNAVAILABLE } from "./refusals.ts";

export interface CommandRequest {
  readonly idempotencyKey: string | null;
  /** What the key stands for: the same key with another body is refused (K2). */
  readonly body: Json;
  /** Content that commits with the command. */
  readonly within?: () => void;
}

/** What the host of the object gives beside the deployment. */
export interface HostComposition extends ThreadComposition {
  /** Wakes the notifications of runs. */
  readonly notify?: () => Promise<void>;
}

export class ThreadHost {
  readonly address: ThreadAddress;
  readonly storage: OpenStorage;
  readonly log: EventLog<ThreadEvents>;
  readonly workspace: SqliteWorkspace;
  readonly prices: Prices;
  readonly runs: RunsReader;
  readonly approvals: ApprovalsReader;
  readonly erasures: ErasuresReader;
  readonly branches: BranchHistory;
  readonly #composition: HostComposition;
  readonly runtime: ThreadRuntime;
  readonly webhooks: WebhookQueue;
  readonly #promoted: CachedPromotedAgents;
  #storedDefinition: AgentDefinition | null = null;
  #erasing: Promise<boolean> | null = null;

  constructor(address: ThreadAddress, storage: ObjectStorage, composition: HostComposition) {
    this.address = address;
    this.#composition = composition;
    this.#promoted = new CachedPromotedAgents(composition.versions, composition.clock);
    this.prices = composition.prices(address.tenant);
    this.storage = openStorage(storage, composition.migrations);
    const { database, blobs, hasher } = this.storage;
    this.runs = new RunsReader(database, () => this.runtime.state.run);
    this.approvals = new ApprovalsReader(database);
    this.erasures = new ErasuresReader(database);
    this.log = openLog<ThreadEvents>(this.storage, {
      catalogue: composition.catalogue,
      defaults: { tenant: address.tenant, agent: address.agent, thread: address.thread },
      projections: threadProjections(database),
    });
    this.branches = new BranchHistory(this.log);
    this.workspace = new SqliteWorkspace({
      sql: database,
      blobs,
      hasher,
      clock: composition.clock,
    });
    this.webhooks = new WebhookQueue({
      sql: database,
      parts: composition.webhooks,
      clock: composition.clock,
      address,
      logId: this.log.logId,
    });
    this.runtime = this.#open();
  }

  /** What new runs begin with. Of a stored agent it is what `refreshDefinition` found last. */
  get definition(): AgentDefinition | null {
    return this.#composition.agents.get(this.address.agent) ?? this.#storedDefinition;
  }

  /** Before a command that begins a run: which version of a stored agent is promoted now, at most 60 s late (P45). */
  async refreshDefinition(): Promise<Reply<null>> {
    const { agents } = this.#composition;
    if (agents.has(this.address.agent)) return ok(null);
    try {
      const version = await this.#promoted.get(this.address);
      const { hasher } = this.storage;
      const tools = registeredTools(agents.values());
      this.#storedDefinition = version === null ? null : toDefinition(version, { tools, hasher });
      return version === null || this.#storedDefinition !== null ? ok(null) : err(UNAVAILABLE);
    } catch (error) {
      return replyWith(error);
    }
  }
  get cron(): Cron {
    return this.#composition.cron;
  }

  get now(): number {
    return this.#composition.clock.now();
  }

  get audit(): AuditParts {
    return this.#composition.audit;
  }

  get schemas(): JsonSchemas {
    return this.#composition.schemas;
  }

  /** Until when there is nothing to do but wait for a person; null when a wake may have work (A7). */
  waitsUntil(): number | null {
    const { state, mode } = this.runtime;
    const { run } = state;
    if (!mode.writable || state.halt !== null) return null;
    if (run === null || !isWaitingForHumans(run)) return null;
    const at = firstExpiry(run);
    return at > this.now ? at : null;
  }

  /** Another one exactly when something was appended, delivered or erased since. */
  progressMark(): string {
    const { erasure } = this.runtime.state;
    const cursors = this.log.cursors().map(({ seq }) => seq);
    const erased = erasure === null ? [] : readProgress(this, erasure.id).done;
    return [this.log.head().seq, ...cursors, ...erased].join(" ");
  }

  isErasing(): boolean {
    return this.runtime.mode.writable && this.runtime.state.erasure !== null;
  }

  /** Whether a wake has something to go on with. */
  hasOpenRun(): boolean {
    const { state, mode } = this.runtime;
    if (!mode.writable || state.halt !== null) return false;
    return state.run !== null || state.queue.length > 0;
  }

  /** Runs `read` when the caller may see this thread; what an adapter refuses comes back as a value. */
  guard<T>(caller: Caller, read: () => Reply<T>): Reply<T> {
    const access = checkAccess(caller, this.address, this.runtime.state.owner);
    if (!access.ok) return access;
    try {
      return read();
    } catch (error) {
      return replyWith(error);
    }
  }

  /** Without the owner check: only creation may come before an owner exists. */
  submit(caller: Caller, command: ThreadCommand, request: CommandRequest): Reply<Receipt> {
    const context: CommandContext = {
      actor: caller.id,
      idempotencyKey: request.idempotencyKey,
      bodyDigest: this.storage.hasher.sha256(
        utf8(canonicalJson({ type: command.type, body: request.body })),
      ),
    };
    try {
      const result = this.runtime.submit(command, context, request.within);
      return result.ok ? ok(result.value) : err(toFailure(result.error));
    } catch (error) {
      return replyWith(error);
    }
  }

  /**
   * Delivers what other places have to know; true while something is left. A read-only log cannot move its cursors:
   * its outbox rests until a build that may write comes along, instead of waking the thread for nothing.
   */
  async drainOutbox(): Promise<boolean> {
    if (!this.log.mode.writable) return false;
    const { directory, archive, inbox, spend, metrics, runIndex } = this.#composition;
    const owner = this.runtime.state.owner ?? "";
    const { logId } = this.log;
    return this.log.drain([
      inboxConsumer({ ...this.address, owner }, inbox),
      directoryConsumer(this.address, directory),
      archiveConsumer({ ...this.#archived, blobs: this.storage.blobs, archive }),
      ...this.#anchors(),
      spendConsumer({ ...this.address, owner }, logId, spend),
      this.#ledgerConsumer(),
      this.webhooks.consumer(),
      metricsConsumer(this.address, logId, metrics),
      runIndexConsumer({ ...this.address, owner }, runIndex, (run) => statusOf(this, run)),
      pushConsumer(this, this.#composition.notify ?? (async () => undefined)),
    ]);
  }

  /** The heads that are due, while a run goes on. */
  async anchor(): Promise<boolean> {
    return this.log.mode.writable && this.log.drain(this.#anchors());
  }

  #anchors(): ReturnType<typeof threadAnchors> {
    const { audit, clock } = this.#composition;
    const { logId } = this.log;
    const conflict = (message: string): void =>
      this.#composition.report({ event: "anchor_conflict", object: logId, message });
    return threadAnchors({ logId, address: this.address }, audit, { clock, conflict });
  }

  async checkSpend(replace: boolean): Promise<Reply<SpendCheck>> {
    const place = { ...this.address, owner: this.runtime.state.owner ?? "" };
    try {
      return ok(await checkSpend(this.log, { place, store: this.#composition.spend, replace }));
    } catch (error) {
      return replyWith(error);
    }
  }

  /** Throws on a log that cannot be written: then nothing may be said of a lease for good. */
  async drainLedger(): Promise<boolean> {
    const { mode } = this.log;
    if (!mode.writable) throw new AppError(mode.reason, mode.message, { kind: "unavailable" });
    return this.log.drain([this.#ledgerConsumer()]);
  }

  #ledgerConsumer(): OutboxConsumer<ThreadEvents> {
    const { ledgers } = this.#composition;
    return ledgerConsumer({
      state: () => this.runtime.state,
      ledger: () => ledgers.ledger(this.address.tenant),
    });
  }

  /**
   * Erases one event's payload and the content it names, the copies outside first: what fails there can be asked for
   * again as long as the event still says what it named.
   */
  async erase(event: ThreadEvent): Promise<number> {
    await this.forgetArchived([event]);
    const { erased } = this.runtime.erase([event.header.seq]);
    this.forgetFiles([event]);
    return erased;
  }

  /** Goes on with the erasure under way; true while something is left. Throws where a store is away. */
  continueErasure(): Promise<boolean> {
    this.#erasing ??= new ErasureWork(this, this.#composition.erasers)
      .run()
      .finally(() => (this.#erasing = null));
    return this.#erasing;
  }

  /** Prunes what is beyond the tenant's retention, or the agent's; true when there may be more (H40, H44). */
  async applyRetention(): Promise<boolean> {
    if (!this.log.mode.writable || !isAtRest(this)) return false;
    const retention = await findRetention(this, this.#composition.retention);
    return retention !== null && applyRetention(this, retention);
  }

  /** Everything in memory goes on from the same state; what is gone from the log is read from nowhere. */
  prune(upTo: number): void {
    this.log.prune(upTo, THREAD_FOLD, () => forgetPruned(this, upTo));
    this.runtime.forget({ refold: false });
  }

  holdsContent(digest: string): boolean {
    return (
      this.storage.database.exec("SELECT 1 FROM files WHERE digest = ? LIMIT 1", digest).length > 0
    );
  }

  /** Answers how many copies these events name. */
  async forgetArchived(events: readonly ThreadEvent[]): Promise<number> {
    const keys = events.flatMap(largeContent).map((address) => archiveKey(this.#archived, address));
    if (keys.length > 0) await this.#composition.archive.delete(keys);
    return keys.length;
  }

  /** Answers how many files these events wrote. */
  forgetFiles(events: readonly ThreadEvent[]): number {
    let count = 0;
    for (const { type, payload } of events) {
      if (type !== "file.written" || payload === null) continue;
      this.workspace.forget(payload.path, payload.digest);
      count += 1;
    }
    return count;
  }

  get #archived(): { readonly tenant: string; readonly logId: string } {
    return { tenant: this.address.tenant, logId: this.log.logId };
  }

  definitionOf(definition: AgentDefinition): string {
    return definitionHash(definition.manifest, this.storage.hasher);
  }

  /** A run of a stored agent finds its tools after a restart too, before anybody asked which version is promoted. */
  #tool(name: string): Tool | null {
    const { run } = this.runtime.state;
    const pinned = run === null ? null : pinOf(this.runtime.state, run.definition);
    const brought = pinned?.manifest.tools.find((pin) => pin.name === name && isCallerPin(pin));
    if (brought !== undefined) return callerTool(brought);
    const { agents } = this.#composition;
    const code = agents.get(this.address.agent);
    return (code?.tools ?? registeredTools(agents.values())).get(name) ?? null;
  }

  /** The owner is read when it is asked for: a thread is opened before it is created. */
  #hookThread(timers: Timers): HookThread {
    const owner = (): string | null => this.runtime.state.owner;
    return {
      ...this.address,
      logId: this.log.logId,
      timers,
      get owner() {
        return owner();
      },
    };
  }

  #open(): ThreadRuntime {
    const { database, hasher, ids } = this.storage;
    const timers = new SharedTimers();
    const { clock, models, sandbox, schemas, hooks, idleMs } = this.#composition;
    return ThreadRuntime.open({
      log: this.log,
      clock,
      ids,
      hasher,
      prices: this.prices,
      models,
      sandbox,
      schemas,
      hooks: hooks(this.#hookThread(timers)),
      idleMs,
      timers,
      tools: (name) => this.#tool(name),
      workspace: this.workspace,
      commands: new SqliteCommandStore(database),
      blocks: new SqliteStreamBlocks(database),
      boundary: OPEN_BOUNDARY,
      transact: (work) => database.transaction(work),
    });
  }
}
