import { describe } from "vitest";
import { D1RunIndex } from "#adapters/run-index/d1-run-index.ts";
import { MemoryRunIndex } from "#test/support/memory-run-index.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { runIndexContract } from "./run-index.ts";

describe("D1RunIndex", () => runIndexContract(() => new D1RunIndex(createNodeD1().d1)));
describe("MemoryRunIndex", () => runIndexContract(() => new MemoryRunIndex()));
