import { describe } from "vitest";
import { D1AgentVersions } from "#adapters/agent-versions/d1-agent-versions.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { agentVersionsContract } from "./agent-versions.ts";

describe("D1AgentVersions", () =>
  agentVersionsContract(() => new D1AgentVersions(createNodeD1().d1)));
