/** A thread through the public API, in workerd, on real Durable Objects and D1. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { Api, threadPath } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, ScriptModel } from "../support/scripted-model.ts";

let api: Api;

beforeAll(async () => {
  api = await Api.service("acme");
});
afterEach(() => lab.models.clear());

describe("a thread", () => {
  it("[G5] answers with a tool's result, each effect once", async () => {
    let executed = 0;
    const tool = defineTool({
      name: "add",
      description: "Adds.",
      version: "1",
      input: z.object({ a: z.number(), b: z.number() }),
      effect: "once",
      execute: async ({ a, b }) => {
        executed += 1;
        return a + b;
      },
    });
    deploy(
      defineAgent({
        name: "adder",
        description: "Adds.",
        instructions: "Add.",
        model: "test/adder",
        tools: [tool],
      }),
    );
    const model = new ScriptModel([ask(["add", { a: 1, b: 2 }]), say("three")]);
    lab.models.set("test/adder", model);
    const thread = threadPath("adder", "t1");
    const run = await api.ended(thread, await api.send(thread, "one and two"));
    expect(run).toMatchObject({ status: "completed", finish: "stop", text: "three", steps: 2 });
    expect(executed).toBe(1);
    expect(model.requests).toHaveLength(2);
  });
});
