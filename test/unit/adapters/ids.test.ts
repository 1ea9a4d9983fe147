import { expect, test } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import { isMessageId, isRunId } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { SeededIds } from "#test/support/seeded-ids.ts";

test("[G2] ids are fresh, fit the alphabet of ids, and carry at least 96 bits", () => {
  const ids = new RandomIds();
  const minted = Array.from({ length: 5_000 }, () => ids.next("run"));
  expect(new Set(minted).size).toBe(minted.length);
  for (const id of minted) expect(id).toMatch(/^run_[0-9a-f]{24,}$/);
  expect([isRunId(minted[0] ?? ""), isMessageId(ids.next("msg"))]).toEqual([true, true]);
});

test("[L4] salts are never handed out twice, whatever is drawn between them", () => {
  const ids = new RandomIds();
  const drawn = Array.from({ length: 3_000 }, (_, index) => ids.bytes(16 + (index % 3)));
  expect(new Set(drawn.map((bytes) => bytes.slice(0, 16).join())).size).toBe(drawn.length);
  expect(ids.bytes(5_000)).toHaveLength(5_000);
  drawn[0]?.fill(0);
  expect(drawn[1]?.some((byte) => byte !== 0)).toBe(true);
});

test("[G2] seeded ids repeat for a seed and differ between seeds", () => {
  const draw = (seed: number): string => {
    const ids = new SeededIds(seed);
    return [ids.next("evt"), ids.bytes(16).join(), ids.next("run")].join("|");
  };
  expect(draw(7)).toBe(draw(7));
  expect(draw(7)).not.toBe(draw(8));
});

test("[L3] the hasher is SHA-256 over the parts as one", () => {
  const hasher = new NodeHasher();
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect([hasher.sha256(utf8("abc")), hasher.sha256(utf8("a"), utf8(""), utf8("bc"))]).toEqual([
    abc,
    abc,
  ]);
  expect(hasher.sha256()).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("[K11] a running hash gives at any time what one over all its parts gives", () => {
  const hasher = new NodeHasher();
  const running = hasher.start();
  let text = "";
  for (const part of ["", "a", "bc".repeat(400), ""]) {
    running.update(utf8(part));
    text += part;
    expect([running.digest(), running.digest()]).toEqual(
      Array.from({ length: 2 }, () => hasher.sha256(utf8(text))),
    );
  }
});
