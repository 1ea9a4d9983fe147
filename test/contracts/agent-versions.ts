/** What every AgentVersions must do; see #ports/agent-versions.ts. */
import { beforeEach, expect, it } from "vitest";
import type { AgentVersions, NewAgentVersion } from "#ports/agent-versions.ts";
import type { AgentName, TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { MANIFEST } from "#test/support/test-app.ts";

const acme = trusted<TenantId>("acme");
const zeta = trusted<TenantId>("zeta");
const helper = trusted<AgentName>("helper");

function version(digit: string, over: Partial<NewAgentVersion> = {}): NewAgentVersion {
  return {
    tenant: acme,
    agent: helper,
    definition: digit.repeat(64),
    manifest: { ...MANIFEST, name: "helper", instructions: `version ${digit}` },
    createdAt: Number(digit),
    createdBy: "key_1",
    ...over,
  };
}

export function agentVersionsContract(create: () => AgentVersions): void {
  let versions: AgentVersions;
  beforeEach(() => {
    versions = create();
  });
  const promotedOf = async (tenant = acme) =>
    (await versions.promoted({ tenant, agent: helper }))?.definition[0] ?? null;

  it("[P44] keeps a version as first stored, whoever stores it again", async () => {
    const first = { ...version("1"), promotedAt: null, retiredAt: null };
    expect(await versions.store(version("1"))).toEqual(first);
    const again = version("1", { createdAt: 9, createdBy: "key_2" });
    expect(await versions.store(again)).toEqual(first);
    expect(await versions.get(version("1"))).toEqual(first);
    expect(await versions.get(version("2"))).toBeNull();
  });

  it("[P45] has at most one promoted version, and none before the first promotion", async () => {
    await versions.store(version("1"));
    await versions.store(version("2"));
    expect(await promotedOf()).toBeNull();
    await versions.promote(version("1"), 10);
    expect(await promotedOf()).toBe("1");
    await versions.promote(version("2"), 20);
    expect(await promotedOf()).toBe("2");
    expect((await versions.get(version("1")))?.promotedAt).toBeNull();
    await versions.promote(version("2"), 30);
    expect((await versions.get(version("2")))?.promotedAt).toBe(20);
  });

  it("[P45] promoting what is unknown or retired leaves what was promoted", async () => {
    await versions.store(version("1"));
    await versions.store(version("2"));
    await versions.promote(version("1"), 10);
    await versions.promote(version("3"), 20);
    await versions.retire(version("2"), 20);
    await versions.promote(version("2"), 30);
    expect(await promotedOf()).toBe("1");
  });

  it("[P46] a retired version is promoted no longer, and keeps the time of its first retirement", async () => {
    await versions.store(version("1"));
    await versions.promote(version("1"), 10);
    await versions.retire(version("1"), 20);
    await versions.retire(version("1"), 30);
    expect(await promotedOf()).toBeNull();
    expect(await versions.get(version("1"))).toMatchObject({ retiredAt: 20, promotedAt: null });
  });

  it("[P47] of another tenant nothing is seen and nothing is changed", async () => {
    await versions.store(version("1"));
    await versions.promote(version("1"), 10);
    expect(await versions.get(version("1", { tenant: zeta }))).toBeNull();
    expect(await promotedOf(zeta)).toBeNull();
    await versions.retire(version("1", { tenant: zeta }), 20);
    expect(await promotedOf()).toBe("1");
    expect(await versions.listPromoted(zeta, 10)).toEqual([]);
    expect(await versions.listPromoted(acme, 10)).toHaveLength(1);
  });

  it("[P7] lists newest first, each once, those of one millisecond included", async () => {
    for (const digit of ["1", "2", "3", "4"]) {
      await versions.store(version(digit, { createdAt: 5 }));
    }
    await versions.store(version("5", { createdAt: 4 }));
    const seen: string[] = [];
    for (let after: { createdAt: number; definition: string } | null = null; ;) {
      const page = await versions.list({ tenant: acme, agent: helper, after, limit: 2 });
      seen.push(...page.map(({ definition }) => definition[0] ?? ""));
      const last = page.at(-1);
      if (last === undefined) break;
      after = { createdAt: last.createdAt, definition: last.definition };
    }
    expect(seen).toEqual(["4", "3", "2", "1", "5"]);
  });
}
