import { describe, expect, it } from "vitest";
import { classifyError, OVERFLOW_PATTERNS } from "#adapters/model/classify-error.ts";

const NOW = Date.parse("2026-11-01T12:00:00Z");
const context = (
  phase: "request" | "stream" = "request",
  signal: AbortSignal = new AbortController().signal,
) => ({ phase, signal, secrets: ["hunter2-secret"], now: NOW });

describe("classifyError", () => {
  it.each(OVERFLOW_PATTERNS.map(([pattern, sample]) => [sample, pattern] as const))(
    "[model M5] is context_overflow: %s",
    (sample, pattern) => {
      expect(sample).toMatch(pattern);
      expect(classifyError({ statusCode: 400, message: sample }, context())).toMatchObject({
        code: "context_overflow",
        retryable: false,
      });
      expect(classifyError({ message: sample }, context("stream"))).toMatchObject({
        code: "context_overflow",
      });
    },
  );

  it.each([
    [{ "retry-after": "2" }, 2000],
    [{ "Retry-After": "0.5" }, 500],
    [{ "retry-after": "Sun, 01 Nov 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sun, 01 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("[model M5] Retry-After %j is %s ms", (responseHeaders, retryAfterMs) => {
    expect(
      classifyError({ statusCode: 429, message: "slow down", responseHeaders }, context()),
    ).toMatchObject({ code: "rate_limited", retryable: true, retryAfterMs });
  });

  it.each([
    "Authorization: Bearer abc.def.ghi failed",
    "key sk-proj-abcdefghijklmnop is wrong",
    "GET https://user:pass@host/v1?api_key=abcdef failed",
    "the password is hunter2-secret",
    `token ${"a1B2".repeat(16)}`,
  ])("[model M5] the message of %j holds no credential", (message) => {
    const { message: shown } = classifyError({ statusCode: 500, message }, context());
    expect(shown).not.toMatch(/abc\.def|abcdefgh|user:pass|=abcdef|hunter2|a1B2a1B2/);
  });

  it("[model M5] a message is one bounded line of well-formed text", () => {
    const { message } = classifyError(
      { statusCode: 500, message: `x\n${"🙂".repeat(1000)}` },
      context(),
    );
    expect(message.length).toBeLessThanOrEqual(400);
    expect(message).not.toContain("\n");
    expect(message.isWellFormed()).toBe(true);
  });

  it("[model M4] a deadline is a timeout, any other abort is aborted, whatever upstream threw", () => {
    const reason = new DOMException("late", "TimeoutError");
    expect(
      classifyError(new Error("fetch failed"), context("stream", AbortSignal.abort(reason))),
    ).toMatchObject({ code: "timeout", retryable: true });
    expect(
      classifyError(new Error("fetch failed"), context("stream", AbortSignal.abort())),
    ).toMatchObject({ code: "aborted", retryable: false });
  });

  it.each([
    [{ code: "rate_limit_exceeded", message: "Rate limit reached" }, "rate_limited"],
    [{ code: 503, message: "busy" }, "overloaded"],
    [{ message: "3040: Capacity temporarily exceeded, please try again." }, "overloaded"],
    ["something odd", "stream_error"],
    [null, "stream_error"],
    [new TypeError("terminated: other side closed the socket"), "stream_incomplete"],
  ])("[model M5] inside a stream %j is %s", (error, code) => {
    expect(classifyError(error, context("stream")).code).toBe(code);
  });
});
