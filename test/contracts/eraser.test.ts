import { describe } from "vitest";
import { D1InboxEraser, D1TitleEraser } from "#adapters/erasure/d1-erasers.ts";
import type { ErasureScope } from "#ports/eraser.ts";
import { FlakyEraser } from "#test/support/flaky-eraser.ts";
import { createNodeD1, type NodeD1 } from "#test/support/node-d1.ts";
import { eraserContract, type EraserHarness } from "./eraser.ts";

const ofThread = "tenant = ? AND agent = ? AND thread = ?";
const key = ({ tenant, agent, thread }: ErasureScope): [string, string, string] => [
  tenant,
  agent,
  thread,
];
const counter =
  ({ sqlite }: NodeD1, from: string) =>
  async (scope: ErasureScope): Promise<number> =>
    Number(
      sqlite.prepare(`SELECT count(*) AS n FROM ${from} AND ${ofThread}`).get(...key(scope))?.["n"],
    );

describe("D1TitleEraser", () =>
  eraserContract(
    (): EraserHarness => {
      const node = createNodeD1();
      return {
        eraser: new D1TitleEraser(node.d1),
        put: async (scope) =>
          void node.sqlite
            .prepare("INSERT INTO threads VALUES (?, ?, ?, 'u1', 'a title', 1, 0, 1)")
            .run(...key(scope)),
        left: counter(node, "threads WHERE title IS NOT NULL"),
      };
    },
    { byRun: false },
  ));

describe("D1InboxEraser", () =>
  eraserContract(
    (): EraserHarness => {
      const node = createNodeD1();
      return {
        eraser: new D1InboxEraser(node.d1),
        put: async (scope) =>
          void node.sqlite
            .prepare(
              `INSERT INTO approvals (tenant, agent, thread, approval, owner, run, call, kind, tool, requested_at, expires_at)
               VALUES (?, ?, ?, ?, 'u1', ?, 'c1', 'tool', 'send', 1, 2)`,
            )
            .run(...key(scope), `evt_${scope.thread}_${scope.runId}`, scope.runId ?? ""),
        left: counter(node, "approvals WHERE 1"),
      };
    },
    { byRun: true },
  ));

describe("FlakyEraser", () =>
  eraserContract(
    (): EraserHarness => {
      const eraser = new FlakyEraser("vectors");
      return {
        eraser,
        put: async (scope) => eraser.put(scope),
        left: async (scope) => eraser.count({ ...scope, runId: null }),
      };
    },
    { byRun: true },
  ));
