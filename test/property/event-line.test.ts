/** The reader of event lines against the expression that says what such a line is, and against the codec for text. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { EventLineReader, isEventLine, toEventText } from "#audit/event-line.ts";
import { decodeBase64, fromBase64, toBase64 } from "#shared/base64.ts";
import { utf8 } from "#shared/json.ts";
import type { RawEvent } from "#ports/event-log.ts";

/** As in `scripts/verify_log.py`. */
const EVENT =
  /^\{"hash":"([0-9a-f]{64})","header":"([ !#-[\]-~]*(?:\\"[ !#-[\]-~]*)*)","payload":(null|"[A-Za-z0-9+/=]*"),"salt":(null|"[A-Za-z0-9+/=]*"),"seq":(0|[1-9]\d{0,15})\}$/;

function readSlowly(line: Uint8Array): RawEvent | null {
  const match = EVENT.exec(Buffer.from(line).toString("latin1"));
  if (match === null) return null;
  const [, hash = "", header = "", payload = "", salt = "", seq = ""] = match;
  const bytes = (literal: string): Uint8Array | null | undefined =>
    literal === "null" ? null : (fromBase64(literal.slice(1, -1)) ?? undefined);
  const parts = { payload: bytes(payload), salt: bytes(salt) };
  const isSound = parts.payload !== undefined && parts.salt !== undefined;
  if (!isSound || !Number.isSafeInteger(Number(seq))) return null;
  return { seq: Number(seq), hash, header: header.replaceAll('\\"', '"'), ...parts } as RawEvent;
}

const reader = new EventLineReader();
function expectSame(line: Uint8Array): boolean {
  const expected = readSlowly(line);
  const event = reader.read(line);
  if (event === null || expected === null) expect(event).toBe(expected);
  else {
    const { headerBytes, ...rest } = event;
    expect(rest).toEqual(expected);
    expect(headerBytes).toEqual(utf8(expected.header));
  }
  return event !== null;
}

const stored = fc.option(fc.uint8Array({ maxLength: 40 }), { nil: null });
const event: fc.Arbitrary<RawEvent> = fc.record({
  seq: fc.maxSafeNat(),
  hash: fc.stringMatching(/^[0-9a-f]{64}$/),
  header: fc.stringMatching(/^[ -[\]-~]{0,60}$/),
  salt: stored,
  payload: stored,
});
const PIECES = [
  '"',
  "\\",
  '\\"',
  "\\u0022",
  "=",
  "A",
  "null",
  "0",
  "9",
  "}",
  " ",
  "\u0000",
  "\u007f",
  "é",
];

test("[H9] a line of an event is read as written, and any other as the expression says", () => {
  let sound = 0;
  let broken = 0;
  fc.assert(
    fc.property(
      event,
      fc.nat(),
      fc.nat(3),
      fc.constantFrom(...PIECES),
      (written, place, gone, piece) => {
        const text = toEventText(written);
        expect(isEventLine(utf8(text))).toBe(true);
        expect(expectSame(utf8(text))).toBe(true);
        const at = place % text.length;
        const changed = utf8(text.slice(0, at) + piece + text.slice(at + gone));
        if (expectSame(changed)) sound += 1;
        else broken += 1;
      },
    ),
    { numRuns: 5_000 },
  );
  expect(Math.min(sound, broken)).toBeGreaterThan(100);
});

test("[H9] a line that is cut anywhere is no line, and one longer than all before is read", () => {
  const payload = new Uint8Array(100_000).fill(7);
  const text = toEventText({
    seq: 9,
    hash: "a".repeat(64),
    header: '{"a":1}',
    salt: null,
    payload,
  });
  expect(expectSame(utf8(text))).toBe(true);
  const short = utf8(
    toEventText({
      seq: 12,
      hash: "a".repeat(64),
      header: '{"a":1}',
      salt: payload.slice(0, 5),
      payload: null,
    }),
  );
  for (let length = 0; length < short.byteLength; length += 1)
    expect(expectSame(short.subarray(0, length))).toBe(false);
});

test.each([
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "9999999999999999",
  "10000000000000000",
  "00",
  "01",
  "-1",
  "",
])("[H9] the seq %j is read or refused as the expression says", (seq) => {
  const text = toEventText({
    seq: 5,
    hash: "a".repeat(64),
    header: "{}",
    salt: null,
    payload: null,
  });
  expectSame(utf8(text.replace('"seq":5}', `"seq":${seq}}`)));
});

test("[H9] base64 from bytes is as strict as base64 from text", () => {
  const alphabet = fc.constantFrom(...Array.from("ABQgwZz09+/=-_ \n\u0000é"));
  let sound = 0;
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 12 }),
      fc.nat(16),
      fc.nat(2),
      fc.string({ unit: alphabet, maxLength: 2 }),
      (bytes, place, gone, piece) => {
        const whole = toBase64(bytes);
        const text = whole.slice(0, place) + piece + whole.slice(place + gone);
        const target = new Uint8Array(64);
        const length = decodeBase64(Buffer.from(text, "latin1"), target, 3);
        const decoded = length === null ? null : target.slice(3, 3 + length);
        expect(decoded).toEqual(fromBase64(text));
        if (decoded !== null) sound += 1;
      },
    ),
    { numRuns: 20_000 },
  );
  expect(sound).toBeGreaterThan(1_000);
});
