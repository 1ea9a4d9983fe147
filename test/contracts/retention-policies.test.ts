import { describe } from "vitest";
import { D1RetentionPolicies } from "#adapters/retention/d1-retention-policies.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { retentionPoliciesContract } from "./retention-policies.ts";

describe("D1RetentionPolicies", () =>
  retentionPoliciesContract(() => new D1RetentionPolicies(createNodeD1().d1)));
