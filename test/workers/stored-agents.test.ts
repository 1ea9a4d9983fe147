/** Agents that are stored over REST, from storing to retiring, in workerd with the real D1 adapter. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { PROMOTED_TTL_MS } from "#adapters/agent-versions/cached-promoted-agents.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { ApprovalView, Page } from "#ports/thread-gateway.ts";
import type { ScheduleView } from "#ports/schedule-stub.ts";
import type { Json } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ask, say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const SCOPES = ["threads:read", "threads:write", "approvals:decide", "audit", "agents:write"];

let api: Api;
let held = false;
const executed: Json[] = [];

beforeAll(async () => {
  api = await Api.service("stored", SCOPES);
});
beforeEach(() => {
  executed.length = 0;
  held = false;
  install("1");
});
afterEach(() => lab.models.clear());

/** The agent whose tool the stored ones use. */
function install(version: string): void {
  const note = defineTool({
    name: "note_it",
    description: "Notes.",
    version,
    input: z.object({ text: z.string() }),
    effect: "idempotent",
    execute: async (args) => {
      executed.push(args);
      while (held) await new Promise((resolve) => setTimeout(resolve, 5));
      return "noted";
    },
  });
  deploy(defineAgent({ name: "toolbox", description: "", instructions: "x", tools: [note] }));
}

interface Stored {
  readonly definition: string;
  readonly code?: string;
}
async function store(name: string, instructions: string, more = {}): Promise<string> {
  const body = { name, instructions, route: `test/${name}`, tools: ["note_it"], ...more };
  const reply = await api.json<Stored>("POST", "/v1/agents", body);
  expect(reply.status).toBe(201);
  return reply.body.definition;
}
function change(name: string, definition: string, verb: "promote" | "retire") {
  return api.json<Stored>("POST", `/v1/agents/${name}/versions/${definition}/${verb}`);
}
async function promote(name: string, definition: string): Promise<void> {
  expect((await change(name, definition, "promote")).status).toBe(200);
  lab.clock.advance(PROMOTED_TTL_MS);
}
function start(name: string): { thread: ThreadClient; model: StrictModel } {
  const model = new StrictModel(({ messages }) =>
    messages.at(-1)?.role === "tool" ? say("done") : ask(["note_it", { text: "a" }]),
  );
  lab.models.set(`test/${name}`, model);
  return { model, thread: new ThreadClient(api, name, "t1") };
}
const code = async (thread: ThreadClient): Promise<unknown> => {
  const reply = await api.json<Stored>("POST", `${thread.path}/messages`, { text: "more" });
  return [reply.status, reply.body.code];
};

describe("a stored agent", () => {
  it("[P45] [P46] runs as promoted, keeps its version through a promotion and a kill, and ends with retirement", async () => {
    const { thread, model } = start("helper");
    const first = await store("helper", "The first words.");
    await promote("helper", first);
    held = true;
    const pinned = await thread.send("note a");
    await api.until(async () => (executed.length === 1 ? true : null));

    const second = await store("helper", "The second words.", {
      approvals: { note_it: "always" },
    });
    await promote("helper", second);
    await abortAllDurableObjects();
    held = false;
    expect(await thread.ended(pinned)).toMatchObject({ status: "completed", definition: first });
    expect(executed.every((args) => JSON.stringify(args) === '{"text":"a"}')).toBe(true);
    expect(await thread.of("approval.requested")).toEqual([]);

    const next = await thread.send("note it again");
    const [open] = await api.until(async () => {
      const page = await api.json<Page<ApprovalView>>("GET", `${thread.path}/approvals?state=open`);
      return page.body.items.length === 1 ? page.body.items : null;
    });
    expect(open).toMatchObject({ tool: "note_it", args: { text: "a" } });

    expect((await change("helper", second, "retire")).status).toBe(200);
    lab.clock.advance(PROMOTED_TTL_MS);
    const path = `${thread.path}/approvals/${open?.approvalId}/decision`;
    expect((await api.json("POST", path, { decision: "approve" })).status).toBe(200);
    expect(await thread.ended(next)).toMatchObject({ status: "completed", definition: second });
    expect(await code(thread)).toEqual([404, "agent_unknown"]);
    expect((await change("helper", second, "promote")).status).toBe(409);

    const said = model.requests.map(({ instructions }) => instructions);
    expect(new Set(said)).toEqual(new Set(["The first words.", "The second words."]));
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });

  it("[P45] the object itself refuses what is not promoted any more, whatever way the command took", async () => {
    const { thread } = start("direct");
    const definition = await store("direct", "Words.");
    await promote("direct", definition);
    const runId = await thread.send("note a");
    await thread.ended(runId);
    const [message] = await thread.messages();
    expect((await change("direct", definition, "retire")).status).toBe(200);
    lab.clock.advance(PROMOTED_TTL_MS);
    const again = `${thread.path}/messages/${message?.messageId}/regenerate`;
    expect(await api.json("POST", again)).toMatchObject({
      status: 404,
      body: { code: "agent_unknown" },
    });
    expect((await thread.of("run.started")).length).toBe(1);
  });

  it("[P49] what it does by itself is declared in its thread main unasked, follows a promotion before it fires, and rests once retired", async () => {
    const model = new StrictModel(() => say("looked"));
    lab.models.set("test/clock", model);
    const thread = new ThreadClient(api, "clock", "main");
    const look = { everySeconds: 600, text: "look" };
    const list = async () =>
      (await api.json<{ items: readonly ScheduleView[] }>("GET", `${thread.path}/schedules`)).body
        .items;
    const away = async (): Promise<void> => {
      await abortAllDurableObjects();
      lab.clock.advance(Math.max(600_000, PROMOTED_TTL_MS));
      await list();
    };
    const first = await store("clock", "Look.", { schedules: { look } });
    await promote("clock", first);
    await api.json("POST", "/v1/agents/clock/threads", { id: "main" });
    expect(await list()).toMatchObject([{ scheduleId: "look", declared: true, lastRun: null }]);
    await away();
    await api.until(async () => ((await thread.of("run.completed")).length === 1 ? true : null));
    expect(await list()).toMatchObject([
      { declared: true, lastRun: expect.stringMatching(/^run_/) },
    ]);

    const second = await store("clock", "Sweep.", {
      schedules: { sweep: { everySeconds: 1_200, text: "sweep" } },
    });
    await promote("clock", second);
    await away();
    // The old one was due, and gone with the promotion: nobody is asked to look any more.
    await api.until(async () => ((await list())[0]?.scheduleId === "sweep" ? true : null));
    expect(await list()).toHaveLength(1);
    expect(await thread.of("schedule.fired")).toHaveLength(1);

    expect((await change("clock", second, "retire")).status).toBe(200);
    await away();
    await away();
    await api.until(async () => ((await thread.of("schedule.fired")).length === 2 ? true : null));
    const [, left] = await thread.of("schedule.fired");
    expect(left?.payload["skipped"]).toBe("definition_unavailable");
    expect(model.requests).toHaveLength(1);
    expect(await thread.chainFault()).toBeNull();
  });

  it("[P44] a manifest that is not what its hash says does not run", async () => {
    const { thread, model } = start("forged");
    await promote("forged", await store("forged", "The true words."));
    const { DB } = env as unknown as { readonly DB: D1Database };
    await DB.prepare(
      "UPDATE agent_versions SET manifest = replace(manifest, 'true', 'false') WHERE agent = 'forged'",
    ).run();
    expect(await code(thread)).toEqual([409, "definition_unavailable"]);
    expect(model.requests).toEqual([]);
  });

  it("[P43] after a deploy that changed its tool, new runs and promotions are refused until a new version is stored", async () => {
    const { thread } = start("moved");
    const old = await store("moved", "Words.");
    await promote("moved", old);
    install("2");
    expect(await code(thread)).toEqual([409, "definition_unavailable"]);
    expect(await change("moved", old, "promote")).toMatchObject({
      status: 409,
      body: { code: "definition_unavailable" },
    });
    await promote("moved", await store("moved", "Words."));
    const runId = await thread.send("note a");
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "done" });
  });
});
