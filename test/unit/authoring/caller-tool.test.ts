import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callerTool, isCallerPin, withExtras } from "#authoring/caller-tool.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { CallerTool } from "#ports/thread-gateway.ts";

const own = defineTool({
  name: "own",
  description: "The agent's own.",
  version: "1",
  input: z.object({}),
  effect: "read",
  execute: () => "own",
});
const agent = defineAgent({ name: "a", description: "a", instructions: "Be kind.", tools: [own] });
const look: CallerTool = {
  name: "look",
  description: "Looks.",
  inputSchema: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
};
const extend = (tools: readonly CallerTool[], instructions: string | null = null) =>
  withExtras(agent, { tools, instructions, history: null });

describe("functions that a caller brings", () => {
  it("[P60] stand beside the agent's tools, pinned with the run", () => {
    const extended = extend([look], "Be brief.");
    if (!extended.ok) throw new Error(extended.error);
    const { manifest } = extended.value;
    expect(manifest.tools.map(({ name }) => name)).toEqual(["own", "look"]);
    expect(manifest.tools.map(isCallerPin)).toEqual([false, true]);
    expect(manifest.instructions).toBe("Be kind.\n\nBe brief.");
    expect(manifest.tools[1]).toMatchObject({ effect: "read", approval: "question" });
  });

  it("[P60] never take the place of one", () => {
    expect(extend([{ ...look, name: "own" }])).toMatchObject({ ok: false });
    expect(extend([look, look])).toMatchObject({ ok: false });
  });

  it("[P60] with a schema or name that cannot be used are refused, not run", () => {
    expect(extend([{ ...look, inputSchema: { type: "array" } }])).toMatchObject({ ok: false });
    expect(extend([{ ...look, name: "not a name" }])).toMatchObject({ ok: false });
    const many = Array.from({ length: 129 }, (_, index) => ({ ...look, name: `t${index}` }));
    expect(extend(many)).toMatchObject({ ok: false });
  });

  it("[P60] are told from an author's tools by a version that no author can give", () => {
    expect(() =>
      defineTool({
        name: "posing",
        description: "Would run nothing.",
        version: "caller",
        input: z.object({}),
        effect: "once",
        execute: () => "never",
      }),
    ).toThrow("reserved");
  });

  it("[P60] do nothing themselves: without a caller's answer there is no result", async () => {
    const extended = extend([look]);
    const pin = extended.ok ? extended.value.manifest.tools[1] : undefined;
    if (pin === undefined) throw new Error("no pin");
    const tool = callerTool(pin);
    expect(callerTool(pin)).toBe(tool);
    expect(tool.question?.({ what: "x" }).text).toContain('{"what":"x"}');
    await expect(tool.execute({ what: "x" }, { approval: null } as never)).rejects.toThrow();
  });
});
