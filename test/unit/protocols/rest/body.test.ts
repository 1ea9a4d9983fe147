import { describe, expect, it } from "vitest";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, readBytes, readJson } from "#protocols/rest/body.ts";

const LIMIT = { maxBytes: MAX_JSON_BYTES, code: "body_too_large" } as const;

function request(
  body: BodyInit,
  headers: Record<string, string> = { "content-type": "application/json" },
): Request {
  return new Request("http://x/", { method: "POST", body, headers, duplex: "half" } as RequestInit);
}
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("JSON bodies", () => {
  it("[P6] come in whole, whatever their chunks cut through", async () => {
    const bytes = new TextEncoder().encode('{"text":"€ and 🧪"}');
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await readJson(request(body), LIMIT)).toEqual({ ok: true, value: { text: "€ and 🧪" } });
  });

  it("[P6] are counted while they arrive, and the rest is not received", async () => {
    let pulled = 0;
    let cancelled = false;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
      },
      cancel() {
        cancelled = true;
      },
    });
    expect(await readJson(request(body), LIMIT)).toMatchObject({
      ok: false,
      error: { code: "body_too_large" },
    });
    expect(pulled).toBeLessThan(20);
    expect(cancelled).toBe(true);
  });

  it("[P6] a declared length beyond the limit is refused before anything is read", async () => {
    let pulled = 0;
    const body = new ReadableStream({ pull: () => void (pulled += 1) }, { highWaterMark: 0 });
    const headers = { "content-length": String(MAX_JSON_BYTES + 1) };
    expect(await readBytes(request(body, headers), LIMIT)).toMatchObject({
      error: { code: "body_too_large" },
    });
    expect(pulled).toBe(0);
  });

  it("[P6] a body of exactly the limit passes and one byte more does not", async () => {
    const text = (bytes: number) => `"${"a".repeat(bytes - 2)}"`;
    expect(await readJson(request(text(MAX_JSON_BYTES)), LIMIT)).toMatchObject({ ok: true });
    expect(await readJson(request(text(MAX_JSON_BYTES + 1)), LIMIT)).toMatchObject({ ok: false });
  });

  it("[P6] nesting is bounded before parsing, and brackets in strings do not count", async () => {
    expect(await readJson(request(nested(MAX_JSON_DEPTH)), LIMIT)).toMatchObject({ ok: true });
    expect(await readJson(request(nested(MAX_JSON_DEPTH + 1)), LIMIT)).toMatchObject({
      error: { code: "invalid_request", message: expect.stringContaining("nested") },
    });
    expect(await readJson(request("[".repeat(500_000)), LIMIT)).toMatchObject({
      error: { code: "invalid_request" },
    });
    const inString = JSON.stringify(`\\"${"[".repeat(100)}`);
    expect(await readJson(request(inString), LIMIT)).toMatchObject({ ok: true });
  });

  it.each(["{", '{"a":1,}', "{'a':1}", '"secret', "", "NaN", '{"a":1}x', "\u0000"])(
    "[P6] malformed %j is refused without quoting it",
    async (text) => {
      expect(await readJson(request(text), LIMIT)).toEqual({
        ok: false,
        error: {
          code: "invalid_request",
          message: "The body is not valid JSON.",
          detail: {},
          retryable: false,
        },
      });
    },
  );

  it("[P6] what is not UTF-8 or not sent as JSON is refused", async () => {
    expect(await readJson(request(Uint8Array.of(0x22, 0xff, 0x22)), LIMIT)).toMatchObject({
      error: { message: "The body is not UTF-8." },
    });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json5"]) {
      expect(await readJson(request("{}", { "content-type": type }), LIMIT)).toMatchObject({
        error: { code: "invalid_request", message: expect.stringContaining("application/json") },
      });
    }
    expect(
      await readJson(request("{}", { "content-type": "Application/JSON; charset=utf-8" }), LIMIT),
    ).toMatchObject({ ok: true });
  });
});
