import { describe } from "vitest";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { spendContract } from "./spend.ts";

describe("D1SpendStore", () => spendContract(() => new D1SpendStore(createNodeD1().d1)));
