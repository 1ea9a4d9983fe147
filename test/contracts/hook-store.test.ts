import { describe } from "vitest";
import { D1HookStore } from "#adapters/hooks/d1-hook-store.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { hookStoreContract } from "./hook-store.ts";

describe("D1HookStore", () => hookStoreContract(() => new D1HookStore(createNodeD1().d1)));
