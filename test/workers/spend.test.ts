/** Cost through the API: what a run spent is in the rollup, exactly, and what nobody knew is known later. */
import type { SpendCheck } from "#ports/spend.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import { Api, threadPath } from "#test/support/api.ts";
import { deploy, lab } from "#test/support/lab.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";

const SCOPES = ["threads:read", "threads:write", "operate"];
let api: Api;

function agent(name: string, capped: boolean): void {
  const model = `lab/${name}`;
  const limits = capped ? {} : { maxCostMicros: null };
  deploy(
    defineAgent({ name, description: name, instructions: "Answer.", model, limits, tools: [] }),
  );
  lab.models.set(model, new ScriptModel([say("hello")]));
}

async function ask(name: string) {
  const thread = threadPath(name, "t1");
  await api.json("POST", `/v1/agents/${name}/threads`, { id: "t1" });
  const runId = await api.send(thread, "go");
  return { thread, run: await api.ended(thread, runId) };
}

beforeAll(async () => {
  api = await Api.service("acme", SCOPES);
});

describe("cost over the API", () => {
  it("[B28][B29] a run's cost is in the rollup, and the rollup is what the log says", async () => {
    agent("priced", true);
    const rates = { inputMicrosPerMillion: 1_000_000, outputMicrosPerMillion: 2_000_000 };
    lab.prices.set("lab/priced", { version: "p1", ...rates });
    const { thread, run } = await ask("priced");
    expect(run).toMatchObject({ status: "completed", costMicros: 20, unpriced: 0 });
    const spent = await api.until(async () => {
      const { body } = await api.json<{ items: { costMicros: number }[] }>(
        "GET",
        "/v1/spend?group_by=agent,model&agent=priced",
      );
      return body.items[0] ?? null;
    });
    expect(spent).toMatchObject({ agent: "priced", model: "lab/priced", costMicros: 20, calls: 1 });
    const { body } = await api.json<SpendCheck>("POST", `${thread}/spend/check`, {});
    expect(body).toMatchObject({ differing: 0, micros: 20, replaced: false });
  });

  it("[B23] a capped run of a route whose price nobody knows is refused", async () => {
    agent("unknown", true);
    lab.prices.set("lab/unknown", null);
    const { run } = await ask("unknown");
    expect(run).toMatchObject({ status: "failed", reason: "price_unknown", tokens: 0 });
  });

  it("[B24][B26] priced by its tenant and told its usage late, a call's unknown cost is known", async () => {
    agent("later", false);
    lab.prices.set("lab/later", null);
    const { thread, run } = await ask("later");
    expect(run).toMatchObject({ status: "completed", costMicros: null, unpriced: 1 });
    const rates = { inputMicrosPerMillion: 3_000_000, outputMicrosPerMillion: 4_000_000 };
    await api.json("PUT", "/v1/prices", { route: "lab/later", rates });
    lab.clock.advance(61_000);
    const events = await api.json<{ items: EventView[] }>("GET", `${thread}/events?limit=100`);
    const intent = events.body.items.find(({ header }) => header.type === "model.requested");
    const usage = { input_tokens: 1, cache_read_input_tokens: 9, output_tokens: 5 };
    const told = { intent: intent?.header.id ?? "", usage };
    const first = await api.json<{ seq: number }>("POST", `${thread}/usage`, told);
    expect(first.status).toBe(200);
    const again = await api.json("POST", `${thread}/usage`, told);
    expect(again.body).toMatchObject({ seq: first.body.seq, disposition: "unchanged" });
    const other = { ...told, usage: { ...usage, output_tokens: 6 } };
    expect((await api.json("POST", `${thread}/usage`, other)).status).toBe(409);
    const after = await api.json("GET", `${thread}/runs/${run.runId}`);
    expect(after.body).toMatchObject({ costMicros: 50, unpriced: 0, tokens: 15 });
  });
});
