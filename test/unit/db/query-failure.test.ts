import { describe, expect, it } from "vitest";
import { D1Directory } from "#adapters/directory/d1-directory.ts";
import { D1KeyStore } from "#adapters/key-store/d1-key-store.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { isAppError } from "#shared/errors.ts";
import { trusted } from "#shared/ids.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";

function chainOf(error: unknown): string {
  return error instanceof Error ? `${error.message} <- ${chainOf(error.cause)}` : "";
}
const record = {
  tenant: trusted<TenantId>("acme"),
  agent: trusted<AgentName>("analyst"),
  thread: trusted<ThreadId>("t1"),
  owner: "canary-owner",
  title: "canary title",
  createdAt: 1,
  lastSeq: 0,
  updatedAt: 1,
};

describe("a D1 that fails", () => {
  it("[P1] is `unavailable`, and neither message nor cause quotes what was bound", async () => {
    const { d1, sqlite } = createNodeD1();
    sqlite.exec("drop table threads; drop table api_keys");
    const directory = new D1Directory(d1);
    const { tenant, agent, thread } = record;
    const visible = { to: "owner", owner: record.owner } as const;
    const failures = await Promise.allSettled([
      directory.register(record),
      directory.get(tenant, agent, thread),
      directory.list({ tenant, visible, agent: null, after: null, limit: 1 }),
      new D1KeyStore(d1).findByHash("canary-hash"),
    ]);
    for (const failure of failures) {
      expect(failure.status).toBe("rejected");
      const error: unknown = failure.status === "rejected" ? failure.reason : null;
      expect(isAppError(error) && [error.code, error.retryable]).toEqual(["unavailable", true]);
      expect(chainOf(error)).toContain("no such table");
      expect(chainOf(error)).not.toContain("canary");
    }
  });
});
