import { describe, expect, it } from "vitest";
import { createTestApp, problemOf } from "#test/support/test-app.ts";

interface Page {
  readonly items: readonly { readonly thread: string }[];
  readonly next: string | null;
}

describe("lists of threads", () => {
  it("[P7] walking page by page gives each thread once, newest first, while others are added", async () => {
    const { call, clock } = createTestApp();
    const create = (id: string) => call("POST", "/v1/agents/analyst/threads", { json: { id } });
    for (let index = 0; index < 7; index += 1) {
      if (index % 3 === 0) clock.advance(1);
      await create(`t${index}`);
    }
    const seen: string[] = [];
    let next: string | null = null;
    do {
      const after: string = next === null ? "" : `&after=${next}`;
      const page: Page = await (await call("GET", `/v1/threads?limit=2${after}`)).json<Page>();
      seen.push(...page.items.map(({ thread }) => thread));
      next = page.next;
      clock.advance(1);
      await create(`late-${seen.length}`);
    } while (next !== null && seen.length < 20);
    expect(seen).toEqual(["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
  });

  it("[P7] a list that ends with its page says so", async () => {
    const { call } = createTestApp();
    expect(await (await call("GET", "/v1/threads")).json()).toEqual({ items: [], next: null });
  });

  it("[P6] a made-up page token is refused", async () => {
    const { call } = createTestApp();
    const response = await call("GET", "/v1/threads?after=everything");
    expect([response.status, (await problemOf(response))["code"]]).toEqual([
      400,
      "invalid_request",
    ]);
  });
});
