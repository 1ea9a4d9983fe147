import { describe, expect, it } from "vitest";
import { z } from "zod";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { defineAgent, definitionHash, toolSchemaDigest } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";

const hasher = new NodeHasher();
const tool = (name: string, version = "1") =>
  defineTool({
    name,
    version,
    description: "Does.",
    input: z.object({ a: z.string() }),
    effect: "read",
    execute: () => null,
  });
const spec = {
  name: "helper",
  description: "Helps.",
  instructions: "Help.",
  tools: [tool("a"), tool("b")],
};

describe("defineAgent", () => {
  it("[K18] holds in the manifest everything a run is pinned to, and nothing that is not JSON", () => {
    const { manifest, tools } = defineAgent(spec);
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
    expect(manifest.route).toBe("default");
    expect(manifest.tools.map((pin) => pin.name)).toEqual([...tools.keys()]);
    expect(manifest.limits.maxCostMicros).toBe(1_000_000);
  });

  it("[K18] has one definition hash for one definition and another for every change", () => {
    const hash = (change: object) =>
      definitionHash(defineAgent({ ...spec, ...change }).manifest, hasher);
    const original = hash({});
    expect(hash({})).toBe(original);
    expect(original).toMatch(/^[0-9a-f]{64}$/);
    const changes = [
      { instructions: "Help well." },
      { model: "other" },
      { limits: { maxSteps: 7 } },
      { retry: { maxAttempts: 1 } },
      { tools: [tool("a"), tool("b", "2")] },
      { tools: [tool("b"), tool("a")] },
    ];
    expect(new Set([original, ...changes.map(hash)]).size).toBe(changes.length + 1);
  });

  it("[T9] digests a tool's schema alone", () => {
    expect(toolSchemaDigest(tool("a"), hasher)).toBe(toolSchemaDigest(tool("b", "9"), hasher));
  });

  it("[K18] refuses what could not run: names, duplicate tools, missing instructions, limits that are no counts", () => {
    const define = (change: object) => () => defineAgent({ ...spec, ...change });
    expect(define({ name: "Helper" })).toThrow(/must match/);
    expect(define({ instructions: " " })).toThrow(/instructions/);
    expect(define({ tools: [tool("a"), tool("a")] })).toThrow(/two tools are named a/);
    expect(define({ limits: { maxSteps: 0 } })).toThrow(/maxSteps/);
    expect(define({ limits: { maxCostMicros: null } })).not.toThrow();
    expect(define({ maxRepairs: -1 })).toThrow(/maxRepairs/);
  });
});
