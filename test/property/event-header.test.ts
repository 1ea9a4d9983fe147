/** The fast path of headers and payloads against the slow, obviously right one. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildHeader, toHeaderText } from "#adapters/log/event-header.ts";
import { matchHeader, readHeader } from "#audit/verifiable-header.ts";
import type { EventHeader, EventScope } from "#ports/event-log.ts";
import { canonicalJson, toWellFormedJson, type Json } from "#shared/json.ts";
import { openNodeLog } from "#test/support/node-log.ts";

const label = fc.option(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:+-]{0,40}$/), { nil: null });
const whole = fc.option(fc.maxSafeInteger(), { nil: null });
const origin = fc.option(
  fc
    .uniqueArray(fc.constantFrom("model", "tool", "user", "web"), { minLength: 1 })
    .map((labels) => labels.toSorted()),
  { nil: null },
);
const scope: fc.Arbitrary<EventScope> = fc.record(
  {
    actor: label,
    agent: label,
    call: label,
    cause: label,
    definition: label,
    leaseId: label,
    parentRun: label,
    parentSpanId: label,
    priceVersion: label,
    rootRun: label,
    run: label,
    spanId: label,
    subject: label,
    tenant: label,
    thread: label,
    traceId: label,
    attempt: whole,
    costMicros: whole,
    deadline: whole,
    depth: whole,
    step: whole,
    origin,
    costKind: fc.constantFrom("normal", "recovery", "estimated", null),
  },
  { requiredKeys: [] },
);
const identity = fc.record({
  logId: fc.constant("log_1"),
  seq: fc.integer({ min: 1 }),
  id: fc.stringMatching(/^evt_[a-z0-9]{1,30}$/),
  type: fc.constantFrom("model.requested", "tool.finished"),
  version: fc.integer({ min: 1, max: 9 }),
  at: fc.nat(),
  epoch: fc.integer({ min: 1 }),
  prev: fc.constant("0".repeat(64)),
  payload: fc.record({
    digest: fc.constant("f".repeat(64)),
    bytes: fc.nat(),
    ref: label,
    encoding: fc.constant("json"),
    keyId: label,
  }),
});

test("[L3] the header text built by key order is the RFC 8785 form of the header", () => {
  fc.assert(
    fc.property(identity, scope, scope, (id, own, defaults) => {
      const header = buildHeader(id, own, defaults);
      const text = toHeaderText(header);
      expect(text).toBe(canonicalJson(JSON.parse(text) as Json));
      expect(JSON.parse(text)).toEqual(header);
      for (const [key, value] of Object.entries(
        header as EventHeader & { readonly [key: string]: unknown },
      )) {
        if (key in own && own[key as keyof EventScope] !== null)
          expect(value).toEqual(own[key as keyof EventScope]);
      }
    }),
  );
});

test("[L7] any JSON with any strings is read back as its well-formed self", () => {
  type Anything = { readonly "any.thing": { readonly value: Json } };
  const { log } = openNodeLog<Anything>({
    name: "any",
    versions: { "any.thing": 1 },
    upcast: (_type, _version, payload) => payload,
  });
  const anything = fc
    .jsonValue({ noUnicodeString: false, stringUnit: "binary" })
    .map((value) => JSON.parse(JSON.stringify(value)) as Json);
  const torn = fc
    .tuple(
      anything,
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("\ud83d", "\ude00", "\\ud83d", ""),
    )
    .map(([value, text, half]): Json => ({ [`${half}${text}`]: value, text: `${text}${half}` }));
  fc.assert(
    fc.property(torn, (value) => {
      const [stored] = log.append([{ type: "any.thing", payload: { value } }], { at: 1 });
      const expected = JSON.parse(JSON.stringify(toWellFormedJson({ value }))) as Json;
      expect(stored?.payload).toEqual(expected);
      expect(log.get(log.head().seq)?.payload).toEqual(expected);
    }),
  );
});

/** What somebody might put into a header, at any place of it. */
const PIECES = [
  '"',
  "\\",
  "\\u0041",
  ",",
  "}",
  "null",
  "-0",
  "01",
  "1e3",
  "1.5",
  '"seq":7,',
  '"__proto__":{},',
  " ",
  "\n",
  "é",
];

test("[L13] the pattern that a verifier reads headers with knows each that the log writes, and agrees with JSON.parse", () => {
  let changed = 0;
  fc.assert(
    fc.property(
      identity,
      scope,
      fc.nat(),
      fc.nat(8),
      fc.constantFrom("", ...PIECES),
      (id, own, place, gone, piece) => {
        const written = toHeaderText(buildHeader(id, own, {}));
        expect(matchHeader(written)).toEqual(readHeader(written));
        const at = place % written.length;
        const text = written.slice(0, at) + piece + written.slice(at + gone);
        const matched = matchHeader(text);
        if (matched === null) return;
        expect(matched).toEqual(readHeader(text));
        if (text !== written) changed += 1;
      },
    ),
    { numRuns: 3_000 },
  );
  // Some were matched, or the comparison says nothing.
  expect(changed).toBeGreaterThan(20);
});
