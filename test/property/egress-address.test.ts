/** An address that is not public is refused in whatever spelling, and every spelling of a public one is taken. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkEgressUrl, isPublicAddress } from "#shared/egress-address.ts";

const byte = fc.integer({ min: 0, max: 255 });
const INNER = [
  [0, 8],
  [10, 8],
  [100 * 256 + 64, 10],
  [127, 8],
  [169 * 256 + 254, 16],
  [172 * 256 + 16, 12],
  [192 * 256 + 168, 16],
  [198 * 256 + 18, 15],
  [224, 3],
] as const;

/** An address of one of the blocks, by the arithmetic of the prefix and not by that of the module. */
const inner = fc.constantFrom(...INNER).chain(([prefix, bits]) => {
  const base = bits <= 8 ? prefix * 2 ** 24 : prefix * 2 ** 16;
  return fc.integer({ min: 0, max: 2 ** (32 - bits) - 1 }).map((rest) => base + rest);
});

function spellings(address: number): readonly string[] {
  const parts = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
  const hex = parts.map((part) => part.toString(16).padStart(2, "0")).join("");
  const [a = 0, b = 0] = parts;
  return [
    parts.join("."),
    `${parts.join(".")}.`,
    String(address),
    `0x${hex}`,
    parts.map((part) => `0${part.toString(8)}`).join("."),
    parts.map((part) => `0x${part.toString(16)}`).join("."),
    `${a}.${address % 2 ** 24}`,
    `${a}.${b}.${address % 2 ** 16}`,
    `[::ffff:${parts.join(".")}]`,
    `[::ffff:${hex.slice(0, 4)}:${hex.slice(4)}]`,
    `[::${parts.join(".")}]`,
    `[64:ff9b::${parts.join(".")}]`,
    `[2002:${hex.slice(0, 4)}:${hex.slice(4)}::1]`,
  ];
}

test("no spelling of an inner IPv4 address is called", () => {
  fc.assert(
    fc.property(inner, fc.boolean(), (address, loopback) => {
      // 127/8 is what the setting of development allows.
      const rules = { loopback: loopback && Math.floor(address / 2 ** 24) !== 127 };
      for (const host of spellings(address))
        for (const scheme of ["https", "http"])
          expect(checkEgressUrl(`${scheme}://${host}/x`, rules).ok, host).toBe(false);
    }),
  );
});

test("every plain spelling of an address says the same", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (address) => {
      const verdicts = spellings(address)
        .slice(0, 8)
        .map((host) => checkEgressUrl(`https://${host}/`, { loopback: false }).ok);
      expect(new Set(verdicts).size).toBe(1);
      expect(verdicts[0]).toBe(isPublicAddress(spellings(address)[0] ?? ""));
    }),
  );
});

test("outside global unicast no IPv6 address is called, short or long", () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  fc.assert(
    fc.property(fc.tuple(group, group, group, group, group, group, group, group), (groups) => {
      const text = groups.map((part) => part.toString(16)).join(":");
      const checked = checkEgressUrl(`https://[${text}]/`, { loopback: false });
      const isGlobal = groups[0] >> 13 === 1;
      if (!isGlobal) expect(checked.ok).toBe(false);
      expect(isPublicAddress(text)).toBe(checked.ok);
      if (checked.ok) expect(isPublicAddress(checked.value.hostname)).toBe(true);
    }),
  );
});

test("text that is no address never throws", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.webUrl(), fc.tuple(byte, fc.ipV6()).map(String)),
      (text) => {
        checkEgressUrl(text, { loopback: true });
        isPublicAddress(text);
      },
    ),
  );
});
