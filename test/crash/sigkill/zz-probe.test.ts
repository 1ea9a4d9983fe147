import { it } from "vitest";
it("probe", async () => { await import("../../support/zz-probe.ts"); });
