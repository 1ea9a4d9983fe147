import { describe } from "vitest";
import { D1Directory } from "#adapters/directory/d1-directory.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { MemoryDirectory } from "#test/support/memory-directory.ts";
import { directoryContract } from "./directory.ts";

describe("D1Directory", () => directoryContract(() => new D1Directory(createNodeD1().d1)));
describe("MemoryDirectory", () => directoryContract(() => new MemoryDirectory()));
