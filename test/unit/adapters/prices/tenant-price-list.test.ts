/** A tenant's own prices: what holds, for how long it is remembered, and what a failing store changes. */
import { describe, expect, it } from "vitest";
import { D1PriceOverrides } from "#adapters/prices/d1-price-overrides.ts";
import { PriceTable } from "#adapters/prices/price-table.ts";
import { TenantPriceList } from "#adapters/prices/tenant-price-list.ts";
import { trusted, type TenantId } from "#shared/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";

const tenant = trusted<TenantId>("acme");
const ROUTE = "workers-ai/openai/gpt-4o-mini";
const OWN = { inputMicrosPerMillion: 1, outputMicrosPerMillion: 2 };
const table = new PriceTable({ openaiCompatibleUrl: null });

function setUp() {
  const overrides = new D1PriceOverrides(createNodeD1().d1);
  const clock = new ManualClock();
  let reads = 0;
  let isDown = false;
  const counted = {
    current: async (of: TenantId) => {
      reads += 1;
      if (isDown) throw new Error("down");
      return overrides.current(of);
    },
  };
  const prices = new TenantPriceList({ tenant, table, overrides: counted, clock });
  const set = (version: string, rates = OWN, of = tenant) =>
    overrides.set({
      tenant: of,
      route: ROUTE,
      version,
      rates,
      createdAt: clock.now(),
      createdBy: "k",
    });
  const setDown = (down: boolean): void => void (isDown = down);
  return { overrides, clock, prices, set, reads: () => reads, setDown };
}

describe("prices of a tenant", () => {
  it("[B24] its own go before the table's, other tenants' do not", async () => {
    const { prices, set } = setUp();
    await set("own-1");
    await set("own-9", OWN, trusted<TenantId>("zeta"));
    expect(prices.price(ROUTE)).toEqual(table.price(ROUTE));
    await prices.refresh();
    expect(prices.price(ROUTE)).toEqual({ ...OWN, version: "own-1" });
  });

  it("[B24] a change holds at most 60 s later, and is asked for before that without a wait", async () => {
    const { prices, set, clock, reads } = setUp();
    await prices.refresh();
    await set("own-1");
    clock.set(clock.now() + 29_999);
    expect(prices.refresh()).toBeNull();
    expect(reads()).toBe(1);
    clock.set(clock.now() + 1);
    // Read ahead of time, in the background: nobody waits.
    expect(prices.refresh()).toBeNull();
    expect(reads()).toBe(2);
    await expect.poll(() => prices.price(ROUTE)?.version).toBe("own-1");
    await set("own-2", { ...OWN, outputMicrosPerMillion: 9 });
    clock.set(clock.now() + 60_000);
    await prices.refresh();
    expect(prices.price(ROUTE)?.version).toBe("own-2");
  });

  it("[B24] a store that fails leaves what is known, and is asked again after a pause", async () => {
    const { prices, set, clock, reads, setDown } = setUp();
    await set("own-1");
    await prices.refresh();
    setDown(true);
    clock.set(clock.now() + 60_000);
    await prices.refresh();
    expect(prices.price(ROUTE)?.version).toBe("own-1");
    expect(prices.refresh()).toBeNull();
    expect(reads()).toBe(2);
    setDown(false);
    clock.set(clock.now() + 5_000);
    await prices.refresh();
    expect(reads()).toBe(3);
  });

  it("[B24] one price holds at a time, what it replaced stays known, and removing it brings the table's back", async () => {
    const { overrides, set, clock } = setUp();
    await set("own-1");
    clock.set(clock.now() + 10);
    await set("own-2", { ...OWN, inputMicrosPerMillion: 5 });
    await set("own-2", { ...OWN, inputMicrosPerMillion: 5 });
    expect((await overrides.current(tenant)).map(({ version }) => version)).toEqual(["own-2"]);
    const history = await overrides.history({ tenant, route: ROUTE });
    expect(history.map(({ version, retiredAt }) => [version, retiredAt === null])).toEqual([
      ["own-2", true],
      ["own-1", false],
    ]);
    clock.set(clock.now() + 10);
    await set("own-1");
    expect((await overrides.current(tenant)).map(({ version }) => version)).toEqual(["own-1"]);
    expect(await overrides.retire({ tenant, route: ROUTE }, clock.now())).toBe(true);
    expect(await overrides.retire({ tenant, route: ROUTE }, clock.now())).toBe(false);
    expect(await overrides.current(tenant)).toEqual([]);
  });
});
