/** The contract of EventLog, continued: what the chain holds and what its payloads may be (L3, L4, L7, L8, L11). */
import { expect } from "vitest";
import { verifyChain } from "#audit/hash-chain.ts";
import type { EventHeader, EventScope } from "#ports/event-log.ts";
import { canonicalJson, fromUtf8, utf8, type Json } from "#shared/json.ts";
import { codeOf, fill, note, type Check } from "./event-log-harness.ts";

const ZEROS = "0".repeat(64);
const FIELDS = [
  "actor",
  "agent",
  "at",
  "attempt",
  "call",
  "cause",
  "costKind",
  "costMicros",
  "deadline",
  "definition",
  "depth",
  "epoch",
  "id",
  "leaseId",
  "logId",
  "origin",
  "parentRun",
  "parentSpanId",
  "payload",
  "prev",
  "priceVersion",
  "rootRun",
  "run",
  "seq",
  "spanId",
  "step",
  "subject",
  "tenant",
  "thread",
  "traceId",
  "type",
  "version",
];
export function eventLogChain(check: Check): void {
  check(
    "[L3] the hash covers the stored header text, which is canonical and holds the previous hash",
    (harness) => {
      const log = harness.open();
      fill(log, 3);
      let previous = ZEROS;
      for (const row of log.raw()) {
        const header = JSON.parse(row.header) as EventHeader & { readonly [key: string]: Json };
        expect(harness.hasher.sha256(utf8(row.header))).toBe(row.hash);
        expect(canonicalJson(header)).toBe(row.header);
        expect(header.prev).toBe(previous);
        previous = row.hash;
      }
      expect(log.head()).toEqual({ seq: 3, hash: previous });
    },
  );

  check(
    "[L4] the payload digest covers salt and stored bytes, and no two events share a salt",
    (harness) => {
      const log = harness.open();
      log.append([note("same"), note("same")], { at: 1 });
      const rows = log.raw();
      for (const row of rows) {
        const { payload } = JSON.parse(row.header) as EventHeader;
        if (row.salt === null || row.payload === null) throw new Error("not erased");
        expect(row.salt).toHaveLength(16);
        expect(payload).toMatchObject({
          digest: harness.hasher.sha256(row.salt, row.payload),
          bytes: row.payload.byteLength,
          encoding: "json",
          ref: null,
          keyId: null,
        });
      }
      expect(
        new Set(rows.map((row) => (JSON.parse(row.header) as EventHeader).payload.digest)).size,
      ).toBe(2);
    },
  );

  check(
    "[L4] erasing takes salt, payload and chunks, nothing else, and the chain still verifies",
    (harness) => {
      const log = harness.open();
      log.append([note("small secret"), note("large secret".repeat(50_000)), note("kept")], {
        at: 1,
      });
      const before = log.raw();
      const ref = log.get(2)?.header.payload.ref ?? "";
      expect(harness.blobs.has(ref)).toBe(true);
      expect(log.erase([1, 2, 2])).toEqual({ erased: 2, alreadyErased: 0 });
      expect(log.erase([2])).toEqual({ erased: 0, alreadyErased: 1 });
      expect(harness.blobs.has(ref)).toBe(false);
      const after = harness.open().raw();
      expect(after.map(({ seq, header, hash }) => ({ seq, header, hash }))).toEqual(
        before.map(({ seq, header, hash }) => ({ seq, header, hash })),
      );
      expect(after.map((row) => [row.salt === null, row.payload === null])).toEqual([
        [true, true],
        [true, true],
        [false, false],
      ]);
      expect(log.read().map((event) => event.payload)).toEqual([null, null, { text: "kept" }]);
      expect(verifyChain(after, harness.hasher, { head: log.head() })).toMatchObject({
        ok: true,
        value: { events: 3, erased: 2 },
      });
      log.append([note("after")], { at: 2 });
      expect(verifyChain(log.raw(), harness.hasher).ok).toBe(true);
    },
  );

  check("[L4] erasing an event that is not there erases nothing", (harness) => {
    const log = harness.open();
    fill(log, 1);
    expect(codeOf(() => log.erase([1, 7]))).toBe("not_found");
    expect(log.get(1)?.payload).toEqual({ text: "note 0" });
  });

  check(
    "[L7] lone surrogates in keys and values become U+FFFD before hashing, pairs and look-alikes stay",
    (harness) => {
      const log = harness.open();
      const texts = ["a\ud800b", "\udc00", "😀", "literal \\ud800 text"];
      const stored = log.append(texts.map(note), { at: 1 });
      const expected = ["a\ufffdb", "\ufffd", "😀", "literal \\ud800 text"];
      expect(stored.map((event) => event.payload)).toEqual(expected.map((text) => ({ text })));
      expect(harness.open().read()).toEqual(stored);
      const keyed = log.append(
        [{ type: "note.added", payload: { text: "x", "\udfff": 1 } as never }],
        { at: 1 },
      );
      expect(keyed[0]?.payload).toEqual({ text: "x", "\ufffd": 1 });
      expect(verifyChain(log.raw(), harness.hasher).ok).toBe(true);
    },
  );

  check(
    "[L8] five megabytes of three-byte characters come back whole, in rows that stay small",
    (harness) => {
      const log = harness.open();
      const text = "漢".repeat(1_750_000);
      const [event] = log.append([note(text)], { at: 1 });
      const ref = event?.header.payload.ref ?? "";
      expect(ref).toBe(`blob:${event?.header.payload.digest}`);
      expect(harness.open().get(1)?.payload?.valueOf()).toEqual({ text });
      expect(harness.largestRow()).toBeLessThanOrEqual(1_572_864);
      expect(harness.blobs.size(ref)).toBe(event?.header.payload.bytes);
      const whole = harness.blobs.get(ref) ?? new Uint8Array(0);
      for (const [offset, limit] of [
        [0, 9],
        [524_280, 16],
        [524_288, 524_288],
        [5_249_990, 99],
        [6_000_000, 5],
      ] as const) {
        expect(harness.blobs.get(ref, { offset, limit })).toEqual(
          whole.slice(offset, offset + limit),
        );
      }
      expect(fromUtf8(harness.blobs.get(ref, { offset: 9, limit: 3 }) ?? utf8(""))).toBe("漢");
      expect(verifyChain(log.raw(), harness.hasher).ok).toBe(true);
    },
  );

  check("[L11] what every header would begin with is an id or a label too", (harness) => {
    const open = (tenant: string) => () => harness.open({ defaults: { tenant } });
    expect(open("ada@example.org")).toThrow("header field tenant holds an id or a label");
    expect(open("a b")).toThrow("header field tenant holds an id or a label");
    expect(open("acme")).not.toThrow();
  });

  check("[L11] a header has every field, unused ones null, in a fixed set", (harness) => {
    const log = harness.open({ defaults: { tenant: "acme", agent: "clerk", thread: "t1" } });
    log.append(
      [
        {
          ...note("x"),
          scope: { run: "run_1", step: 2, origin: ["tool", "web"], thread: "t2" },
          id: "evt_fixed",
        },
      ],
      { at: 9 },
    );
    const header = JSON.parse(log.raw()[0]?.header ?? "") as { readonly [key: string]: Json };
    expect(Object.keys(header)).toEqual(FIELDS);
    const used = Object.entries(header)
      .filter(([, value]) => value !== null)
      .map(([key]) => key);
    expect(used).toEqual([
      "agent",
      "at",
      "epoch",
      "id",
      "logId",
      "origin",
      "payload",
      "prev",
      "run",
      "seq",
      "step",
      "tenant",
      "thread",
      "type",
      "version",
    ]);
    expect(header).toMatchObject({
      id: "evt_fixed",
      tenant: "acme",
      thread: "t2",
      step: 2,
      version: 1,
    });
  });

  const refused: readonly (readonly [string, EventScope])[] = [
    ["an address", { actor: "jo@example.com" }],
    ["a path", { subject: "notes/secret.txt" }],
    ["a text", { call: "please refund me" }],
    ["a fraction", { costMicros: 0.5 }],
    ["unsorted origins", { origin: ["web", "tool"] }],
    ["a lone surrogate", { run: "\ud800" }],
  ];
  for (const [what, scope] of refused) {
    check(`[L11] a header refuses ${what} and nothing is stored`, (harness) => {
      const log = harness.open();
      const before = harness.dump();
      expect(() => log.append([{ ...note("x"), scope }], { at: 1 })).toThrow("invariant violated");
      expect(harness.dump()).toBe(before);
    });
  }
}
