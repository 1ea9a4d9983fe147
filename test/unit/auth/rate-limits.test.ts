import { describe, expect, it } from "vitest";
import type { Principal } from "#auth/principal.ts";
import { RateLimits } from "#auth/rate-limits.ts";
import type { PrincipalId, TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";

function principal(id: string, tenant = "acme"): Principal {
  return {
    tenant: trusted<TenantId>(tenant),
    kind: "service",
    id: trusted<PrincipalId>(id),
    roles: [],
    scopes: [],
    onBehalfOf: null,
    credential: { keyId: id, expiresAt: null },
  };
}
const ADA = principal("ada");

function start(requestsPerMinute: number | null, runsPerMinute: number | null = null) {
  const clock = new ManualClock();
  const limits = new RateLimits({ requestsPerMinute, runsPerMinute }, clock);
  const takeAll = (who = ADA): number => {
    let taken = 0;
    while (taken < 1_000 && limits.take("request", who) === null) taken += 1;
    return taken;
  };
  return { clock, limits, takeAll };
}

describe("rate limits", () => {
  it("[P40] a minute's worth may come at once, then one by one as time passes", () => {
    const { clock, limits, takeAll } = start(60);
    expect(takeAll()).toBe(60);
    clock.advance(999);
    expect(limits.take("request", ADA)).toBe(1);
    clock.advance(1);
    expect(limits.take("request", ADA)).toBeNull();
    expect(limits.take("request", ADA)).toBe(1);
  });

  it("[P40] says when to come back, and whoever does is let in", () => {
    const { clock, limits } = start(2);
    limits.take("request", ADA);
    limits.take("request", ADA);
    const wait = limits.take("request", ADA);
    expect(wait).toBe(30);
    clock.advance(30_000);
    expect(limits.take("request", ADA)).toBeNull();
  });

  it("[P40] a refusal takes nothing, and rest fills no bucket beyond its size", () => {
    const { clock, limits, takeAll } = start(60);
    takeAll();
    for (let tries = 0; tries < 500; tries += 1) limits.take("request", ADA);
    clock.advance(60_000);
    expect(takeAll()).toBe(60);
    clock.advance(3_600_000);
    expect(takeAll()).toBe(60);
  });

  it("[P40] each principal has its own, also under one id in two tenants", () => {
    const { takeAll } = start(3);
    expect([takeAll(), takeAll(principal("bob")), takeAll(principal("ada", "zeta"))]).toEqual([
      3, 3, 3,
    ]);
  });

  it("[P40] a clock that is set back neither gives nor takes", () => {
    const { clock, limits } = start(2);
    limits.take("request", ADA);
    clock.advance(-3_600_000);
    expect(limits.take("request", ADA)).toBeNull();
    expect(limits.take("request", ADA)).toBe(30);
  });

  it("[P41] runs are counted apart, and null is no limit", () => {
    const { limits, takeAll } = start(null, 1);
    expect(limits.take("run", ADA)).toBeNull();
    expect(limits.take("run", ADA)).toBe(60);
    expect(takeAll()).toBe(1_000);
  });
});
