/**
 * Timetable: the schedules of one thread over real stores, with time in a test's hands, through the host's own functions.
 *
 * `wake` is what an alarm does. `crash` is a process that dies: what is in memory is gone, and the next start declares what
 * the agent's file says, as every start does.
 */
import { CronerCron } from "#adapters/cron/croner-cron.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { defineAgent, definitionHash, type AgentSpec } from "#authoring/define-agent.ts";
import { declareSchedules } from "#durable-objects/agent/schedule-declarations.ts";
import {
  fireDue,
  nextFiring,
  toFiring,
  type FiringThread,
} from "#durable-objects/agent/schedule-firing.ts";
import { plan } from "#durable-objects/agent/schedule-commands.ts";
import type { Receipt, ThreadCommand } from "#kernel/commands.ts";
import type { ScheduleState } from "#kernel/schedule-events.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { ScheduleRequest } from "#ports/schedule-stub.ts";
import type { SubmitRefusal } from "#runner/thread-runtime.ts";
import { ok, type Result } from "#shared/result.ts";
import { say, ScriptModel } from "./scripted-model.ts";
import { SeededIds } from "./seeded-ids.ts";
import { ThreadHarness, type HarnessOptions } from "./thread-harness.ts";

type Schedules = AgentSpec["schedules"];
const CONTEXT = { actor: "usr_1", idempotencyKey: null, bodyDigest: "" };
const CRON = new CronerCron();

export class Timetable {
  readonly thread: ThreadHarness;
  readonly model = new ScriptModel(
    Array.from({ length: 300 }, () => say("done")),
    { by: "call" },
  );
  definition: AgentDefinition | null;
  readonly #ids = new SeededIds(7);

  constructor(schedules?: Schedules, options: Partial<HarnessOptions> = {}) {
    this.thread = new ThreadHarness({ model: this.model, ...options });
    this.definition = define(schedules);
    this.#declare();
  }

  get now(): number {
    return this.thread.clock.now();
  }
  get schedules(): readonly ScheduleState[] {
    return this.thread.runtime.state.schedules;
  }
  get next(): number | null {
    return nextFiring(this.#host);
  }
  of(scheduleId: string): ScheduleState {
    const found = this.schedules.find((schedule) => schedule.scheduleId === scheduleId);
    if (found === undefined) throw new Error(`no schedule ${scheduleId}`);
    return found;
  }

  set(
    scheduleId: string,
    rule: ScheduleRequest["rule"],
    more: Partial<ScheduleRequest> = {},
  ): Result<Receipt, SubmitRefusal> | Result<never, string> {
    const request = {
      scheduleId,
      rule,
      text: `do ${scheduleId}`,
      overlap: "skip",
      ...more,
    } as const;
    const planned = plan(this.#host, request);
    if (!planned.ok) return planned;
    const { nextAt, rule: exact } = planned.value;
    const { text, overlap } = request;
    const spec = { scheduleId, rule: exact, text, overlap };
    return this.thread.runtime.submit(
      { type: "set_schedule", spec, nextAt, declared: false },
      CONTEXT,
    );
  }
  hold(scheduleId: string, paused: boolean, nextAt: number): Result<Receipt, SubmitRefusal> {
    return this.thread.runtime.submit(
      { type: "pause_schedule", scheduleId, paused, nextAt },
      CONTEXT,
    );
  }
  drop(scheduleId: string): Result<Receipt, SubmitRefusal> {
    return this.thread.runtime.submit(
      { type: "delete_schedule", scheduleId, declared: false },
      CONTEXT,
    );
  }
  ask(scheduleId: string): Result<Receipt, SubmitRefusal> {
    const firing = toFiring(this.#host, this.of(scheduleId), { asked: true });
    return this.thread.runtime.submit(firing, CONTEXT);
  }

  /** The command by which it would fire at this time. */
  firing(scheduleId: string, now: number): ThreadCommand {
    return { ...toFiring(this.#host, this.of(scheduleId), { asked: false }), now };
  }
  /** The alarm: everything that is due fires; the runs wait to be driven. */
  async fire(): Promise<void> {
    await fireDue(this.#host, () => this.#declare());
  }
  /** The alarm, and the work it leads to. */
  async wake(): Promise<void> {
    await this.fire();
    await this.thread.finish();
  }
  /** To the next due time, and its work. */
  async tick(): Promise<void> {
    if (this.next === null) throw new Error("nothing is due");
    this.thread.clock.set(Math.max(this.now, this.next));
    await this.wake();
  }
  crash(): void {
    this.thread.reopen();
    this.#declare();
  }
  deploy(schedules?: Schedules): void {
    this.definition = define(schedules);
    this.crash();
  }
  /** [due, why it was skipped or null] of each firing. */
  fired(): readonly (readonly [number, string | null])[] {
    return this.thread
      .of("schedule.fired")
      .map(({ payload }) => [payload?.dueAt ?? 0, payload?.skipped ?? null]);
  }

  #declare(): void {
    declareSchedules(this.#host);
  }
  get #host(): FiringThread & Pick<ThreadHarness, "address"> {
    const hasher = new NodeHasher();
    return {
      address: this.thread.address,
      runtime: this.thread.runtime,
      now: this.now,
      cron: CRON,
      definition: this.definition,
      definitionOf: ({ manifest }) => definitionHash(manifest, hasher),
      refreshDefinition: () => Promise.resolve(ok(null)),
      storage: { ids: this.#ids },
    };
  }
}

function define(schedules: Schedules): AgentDefinition {
  const base = { name: "helper", description: "helps", instructions: "Help.", tools: [] };
  return defineAgent({
    ...base,
    model: "test/script",
    limits: { maxCostMicros: null },
    ...(schedules === undefined ? {} : { schedules }),
  });
}
