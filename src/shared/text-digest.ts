/**
 * A 64-bit digest of a text, for telling texts apart inside one log: cheap enough for every call, and pure.
 *
 * Not cryptographic: whoever chooses both texts can make them collide. What must hold against that is a SHA-256.
 */
const PRIME_A = 0x01000193;
const PRIME_B = 0x85ebca6b;
const SEED_A = 0x811c9dc5;
const SEED_B = 0x9747b28c;

/** 16 lower-case hex digits. */
export function textDigest(text: string): string {
  let a = SEED_A;
  let b = SEED_B;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, PRIME_A);
    b = Math.imul((b << 5) ^ (b >>> 27) ^ unit, PRIME_B);
  }
  return hex(finish(a ^ text.length, b)) + hex(finish(b ^ text.length, a));
}

/** Each bit of both lanes reaches each bit of the half. */
function finish(lane: number, other: number): number {
  let mixed = Math.imul(lane ^ (lane >>> 16) ^ Math.imul(other, PRIME_B), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return mixed ^ (mixed >>> 15);
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, "0");
}
