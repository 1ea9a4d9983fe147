import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  acceptsEventStream,
  parseCursor,
  parseFilePath,
  parseIdempotencyKey,
  parseRange,
  parseThreadPosition,
} from "#protocols/rest/decode.ts";
import { encodeThreadList } from "#protocols/rest/encode.ts";
import { formatCursor } from "#protocols/rest/sse.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

describe("stream positions", () => {
  it("[P2] what an SSE id says is what is read back", () => {
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(part(1e15 - 1), part(1e9 - 1), part(1e9 - 1), (seq, attempt, offset) => {
        const cursor = { seq, attempt, offset };
        expect(parseCursor(formatCursor(cursor), "id")).toEqual({ ok: true, value: cursor });
      }),
    );
  });

  it("[P2] a bare seq is a position after all of it", () => {
    expect(parseCursor("7", "from")).toEqual({
      ok: true,
      value: { seq: 7, attempt: 0, offset: 0 },
    });
  });

  it.each([
    "",
    " ",
    "1.2",
    "1.2.3.4",
    "-1.0.0",
    "1.-2.0",
    "01.0.0",
    "1.0.0 ",
    "1e3.0.0",
    "0x1.0.0",
    "1.0.0\n",
    "NaN",
    "9999999999999999.0.0",
    "1.0.9999999999",
    "undefined",
    "١.٠.٠",
    "1,0,0",
  ])("[P2] garbage is refused with what would have been right: %j", (text) => {
    expect(parseCursor(text, "Last-Event-ID")).toMatchObject({
      ok: false,
      error: { code: "invalid_request", message: expect.stringContaining("Last-Event-ID") },
    });
  });
});

describe("headers", () => {
  it.each([
    ["text/event-stream", true],
    ["application/json, text/event-stream;q=0.5", true],
    ["TEXT/EVENT-STREAM; charset=utf-8", true],
    ["text/event-stream;q=0", false],
    ["text/event-stream; q=0.000", false],
    ["*/*", false],
    ["", false],
    [undefined, false],
  ])("[P2] Accept %j asks for a stream: %s", (accept, expected) => {
    expect(acceptsEventStream(accept)).toBe(expected);
  });

  it.each(["a", "6f1c-…".slice(0, 5), "a b", "~".repeat(128)])(
    "[K2] takes the idempotency key %j",
    (key) => {
      expect(parseIdempotencyKey(key)).toEqual({ ok: true, value: key });
    },
  );
  it.each(["", " ", " a", "a ", "a".repeat(129), "a\tb", "é", "a\u0000"])(
    "[K2] refuses the idempotency key %j",
    (key) => {
      expect(parseIdempotencyKey(key)).toMatchObject({
        ok: false,
        error: { code: "invalid_request" },
      });
    },
  );
});

describe("page tokens of thread lists", () => {
  const record = {
    tenant: trusted<TenantId>("acme"),
    agent: trusted<AgentName>("analyst"),
    thread: trusted<ThreadId>("t_1-x"),
    owner: "u1",
    title: null,
    createdAt: 1_700_000_000_000,
    lastSeq: 1,
    updatedAt: 1,
  };

  it("[P7] name a place in the order and nothing of its tenant", () => {
    const { next, items } = encodeThreadList([record], 1);
    expect(next).toBe("1700000000000.analyst.t_1-x");
    expect(parseThreadPosition(next ?? "")).toEqual({
      ok: true,
      value: { createdAt: record.createdAt, agent: "analyst", thread: "t_1-x" },
    });
    expect(items[0]).not.toHaveProperty("tenant");
  });

  it.each([
    "",
    "1",
    "1.analyst",
    "x.analyst.t1",
    "1.Analyst.t1",
    "1.analyst.t 1",
    "1.analyst.t1.more",
    "-1.analyst.t1",
  ])("[P7] %j is refused", (text) => {
    expect(parseThreadPosition(text)).toMatchObject({
      ok: false,
      error: { code: "invalid_request" },
    });
  });
});

describe("file paths", () => {
  const url = (rest: string) => `http://x/v1/agents/a/threads/t/files/${rest}`;

  it.each([
    ["data.csv", "data.csv"],
    ["a/b%20c.txt", "a/b c.txt"],
    ["a%2Fb.txt", "a/b.txt"],
    ["%E2%82%AC.txt", "€.txt"],
    ["threads/t/files/x", "threads/t/files/x"],
    ["100%25.txt", "100%.txt"],
    ["%252e%252e/x", "%2e%2e/x"],
    ["a%00b", "a\u0000b"],
    ["..%5Cx", "..\\x"],
  ])("[T7] %j is decoded exactly once, to %j", (rest, path) => {
    expect(parseFilePath(url(rest))).toEqual({ ok: true, value: path });
  });

  it.each(["", "%", "%zz", "%ff", "%ed%a0%80", "a%c3"])("[T7] %j is no path", (rest) => {
    expect(parseFilePath(url(rest))).toMatchObject({
      ok: false,
      error: { code: "file_path_invalid" },
    });
  });
});

describe("ranges", () => {
  it.each([
    ["bytes=0-0", { start: 0, end: 0 }],
    ["bytes=2-", { start: 2, end: 9 }],
    ["bytes=2-100", { start: 2, end: 9 }],
    ["bytes=-3", { start: 7, end: 9 }],
    ["bytes=-100", { start: 0, end: 9 }],
    ["bytes=10-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=5-2", null],
    ["bytes=-", null],
    ["bytes=0-1,3-4", null],
    ["items=0-1", null],
    [undefined, null],
  ])("[P8] %j of ten bytes is %j", (header, expected) => {
    expect(parseRange(header, 10)).toEqual(expected);
  });

  it("[P8] nothing can be taken from an empty file", () => {
    expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
  });
});
