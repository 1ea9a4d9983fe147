/** The contract of RetentionPolicies. */
import { expect, it } from "vitest";
import type { RetentionPolicies, RetentionPolicy } from "#ports/retention-policies.ts";
import { trusted, type AgentName, type TenantId } from "#shared/ids.ts";

const TENANT = trusted<TenantId>("acme");
const OTHER = trusted<TenantId>("other");
const ONE = trusted<AgentName>("one");
const TWO = trusted<AgentName>("two");

const policy = (more: Partial<RetentionPolicy> = {}): RetentionPolicy => ({
  tenant: TENANT,
  agent: null,
  maxAgeDays: null,
  maxEvents: null,
  updatedAt: 1,
  updatedBy: "key_1",
  ...more,
});

export function retentionPoliciesContract(open: () => RetentionPolicies): void {
  it("[H44] that of the agent holds, else that of all, else none; another tenant's never", async () => {
    const policies = open();
    expect(await policies.find(TENANT, ONE)).toBeNull();
    await policies.set(policy({ tenant: OTHER, maxEvents: 9 }));
    await policies.set(policy({ agent: ONE, maxEvents: 5 }));
    expect(await policies.find(TENANT, TWO)).toBeNull();
    await policies.set(policy({ maxAgeDays: 7 }));
    expect(await policies.find(TENANT, TWO)).toEqual(policy({ maxAgeDays: 7 }));
    expect(await policies.find(TENANT, ONE)).toEqual(policy({ agent: ONE, maxEvents: 5 }));
    expect(await policies.list(TENANT)).toEqual([
      policy({ maxAgeDays: 7 }),
      policy({ agent: ONE, maxEvents: 5 }),
    ]);
  });

  it("[H44] set again is replaced, whole; removed, what is less special holds", async () => {
    const policies = open();
    await policies.set(policy({ agent: ONE, maxAgeDays: 3, maxEvents: 5 }));
    const again = policy({ agent: ONE, maxEvents: 6, updatedAt: 2, updatedBy: "key_2" });
    await policies.set(again);
    await policies.set(policy({ maxEvents: 8 }));
    expect(await policies.find(TENANT, ONE)).toEqual(again);
    expect(await policies.remove({ tenant: TENANT, agent: ONE })).toBe(true);
    expect(await policies.remove({ tenant: TENANT, agent: ONE })).toBe(false);
    expect(await policies.find(TENANT, ONE)).toEqual(policy({ maxEvents: 8 }));
  });
}
