/**
 * Entry of the Worker that the SIGKILL suites run as a separate process: the product's own composition, the real
 * OpenAI-compatible adapter, and an agent whose tools act on a system outside (test/support/outside.ts).
 *
 * `TEST_BUILD` names the build that this process stands for, so that one state directory meets several deployments.
 */
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import { createCatalogue, THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { Tool } from "#ports/tool.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { GateHooks } from "#runner/gate-hooks.ts";
import { isJsonObject, utf8, type Json } from "#shared/json.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import { composeApp, composeLedger, composeThread } from "#src/composition.ts";
import type { Env } from "#src/env.ts";
import { cashierTools } from "./cashier-tools.ts";
import { nameIn } from "./crash-script.ts";
import { createHttpDesk } from "./retail/http-desk.ts";
import { retailTools } from "./retail/tools.ts";

export { MemoryObject } from "#durable-objects/memory-object.ts";

interface CrashEnv extends Env {
  readonly OUTSIDE_URL: string;
  readonly TEST_BUILD?: string;
}

/** How a build differs from the first one. */
interface Build {
  readonly instructions?: string;
  readonly without?: string;
  /** Tools with another argument schema under the same version. */
  readonly reshaped?: string;
  readonly raisesEvent?: boolean;
  readonly addsMigration?: boolean;
  /** One more tool for the cashier. */
  readonly extended?: boolean;
}
const BUILDS: ReadonlyMap<string, Build> = new Map([
  ["first", {}],
  ["instructions", { instructions: "Do it another way." }],
  ["extended", { instructions: "Do it a third way.", extended: true }],
  ["tool-removed", { without: "pay" }],
  ["tool-reshaped", { reshaped: "pay" }],
  ["event-raised", { raisesEvent: true }],
  ["migration", { addsMigration: true }],
  ["newest", { raisesEvent: true, addsMigration: true }],
]);

const input = z.object({ run: z.string(), step: z.number() });
type Input = z.output<typeof input>;

function buildOf(env: CrashEnv): Build {
  const name = env.TEST_BUILD ?? "first";
  const build = BUILDS.get(name);
  if (build === undefined) throw new TypeError(`there is no build ${name}`);
  return build;
}

function createTools(env: CrashEnv): readonly Tool[] {
  const act = async (what: string, args: Input, key: string): Promise<Json> => {
    const { run, step } = args;
    const response = await fetch(`${env.OUTSIDE_URL}/${what}`, {
      method: "POST",
      body: JSON.stringify({ run, step, key }),
    });
    return response.json();
  };
  const result = (what: string, { step }: Input): Json => ({ did: what, step });
  const plain = (name: string, effect: "read" | "idempotent" | "once", shape = input): Tool =>
    defineTool({
      name,
      description: `Acts outside, as ${effect}.`,
      version: "1",
      effect,
      input: shape,
      async execute(args, { idempotencyKey }) {
        await act(name, args, idempotencyKey);
        return result(name, args);
      },
    });
  const book = defineTool({
    name: "book",
    description: "Acts outside, and can be asked whether it did.",
    version: "1",
    effect: "reconcile",
    input,
    async execute(args, { idempotencyKey }) {
      await act("book", args, idempotencyKey);
      return result("book", args);
    },
    async check(key, args) {
      const answer = await act("check", args, key);
      const happened = isJsonObject(answer) && answer["happened"] === true;
      return happened ? { happened, result: result("book", args) } : { happened: false };
    },
  });
  const note = defineTool({
    name: "note",
    description: "Acts outside and writes a file.",
    version: "1",
    effect: "idempotent",
    input,
    async execute(args, { idempotencyKey, files }) {
      await act("note", args, idempotencyKey);
      files.write(`notes/${args.run}.txt`, utf8(`step ${args.step}`));
      return result("note", args);
    },
  });
  const { reshaped, without } = buildOf(env);
  const pay =
    reshaped === "pay"
      ? plain("pay", "once", input.extend({ currency: z.string().default("EUR") }))
      : plain("pay", "once");
  return [plain("look", "read"), plain("store", "idempotent"), book, pay, note].filter(
    (tool) => tool.name !== without,
  );
}

/** What the script's route costs is nobody's business here, so nothing is limited in money. */
const LIMITS = { maxCostMicros: null };
const RETRY = { maxAttempts: 8, baseDelayMs: 100, maxDelayMs: 1_000 };

function createAgents(env: CrashEnv): readonly AgentDefinition[] {
  return [
    defineAgent({
      name: "worker",
      description: "Does what its script says.",
      instructions: buildOf(env).instructions ?? "Do it the first way.",
      tools: createTools(env),
      retry: RETRY,
      limits: LIMITS,
      contextTokens: 200_000,
    }),
    defineAgent({
      name: "cashier",
      description: "Wires money, after a person has said yes.",
      instructions: buildOf(env).instructions ?? "Do it the first way.",
      tools: [
        ...cashierTools(env.OUTSIDE_URL),
        ...(buildOf(env).extended === true ? createTools(env).slice(0, 1) : []),
      ],
      retry: RETRY,
      limits: LIMITS,
    }),
    defineAgent({
      name: "retail",
      description: "Serves the customers of a shop outside.",
      instructions: "Help.",
      tools: retailTools(createHttpDesk(env.OUTSIDE_URL)),
      retry: RETRY,
      limits: LIMITS,
      contextTokens: 400_000,
    }),
  ];
}

/** Lets a test stop a run between the outcome of one step and the intent of the next. */
function createHooks(env: CrashEnv): GateHooks {
  return {
    ...DEFAULT_HOOKS,
    policy: {
      async check(view) {
        if (view.kind === "model") {
          const run = nameIn(JSON.stringify(view.request.messages.findLast(isUser)));
          const body = JSON.stringify({ run, step: view.step });
          await (await fetch(`${env.OUTSIDE_URL}/next`, { method: "POST", body })).arrayBuffer();
        }
        return DEFAULT_HOOKS.policy.check(view);
      },
    },
  };
}

function isUser({ role }: { readonly role: string }): boolean {
  return role === "user";
}

/** What version 2 adds is seen in every older payload that is read. */
function createCatalogues(raised: boolean): ThreadComposition["catalogue"] {
  if (!raised) return THREAD_CATALOGUE;
  return createCatalogue<ThreadEvents>(
    THREAD_CATALOGUE.name,
    { ...THREAD_CATALOGUE.versions, "tool.finished": 2 },
    {
      "tool.finished": {
        1: (payload) => ({ ...(isJsonObject(payload) ? payload : {}), upcast: true }),
      },
    },
  );
}

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: CrashEnv): ThreadComposition => {
    const { raisesEvent = false, addsMigration = false } = buildOf(env);
    const added = {
      id: "0999_added",
      sql: "CREATE TABLE `added` (`id` integer PRIMARY KEY) STRICT;",
    };
    return composeThread(env, createAgents(env), {
      hooks: () => createHooks(env),
      catalogue: createCatalogues(raisesEvent),
      migrations: addsMigration ? [...OBJECT_MIGRATIONS, added] : OBJECT_MIGRATIONS,
    });
  };
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

export default {
  fetch(request: Request, env: CrashEnv, ctx: ExecutionContext): Response | Promise<Response> {
    return composeApp(env, createAgents(env)).fetch(request, env, ctx);
  },
} satisfies ExportedHandler<CrashEnv>;
