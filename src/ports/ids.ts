/** Source of identifiers and randomness. Ids are minted with the intent, before anything leaves the object (rule G2). */
export interface Ids {
  /** A fresh id `${prefix}_${random}`, at least 96 bits of entropy, alphabet `[A-Za-z0-9_]`. */
  next(
    prefix:
      | "evt"
      | "run"
      | "msg"
      | "call"
      | "log"
      | "thr"
      | "req"
      | "trc"
      | "spn"
      | "br"
      | "psh"
      | "hook"
      | "whk",
  ): string;
  /** `length` random bytes, for salts. */
  bytes(length: number): Uint8Array;
}
