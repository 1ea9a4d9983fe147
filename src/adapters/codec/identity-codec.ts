/** PayloadCodec that stores UTF-8 JSON as it is. Its label is part of the header contract: `json`. */
import { AppError } from "#shared/errors.ts";
import type { PayloadCodec, PayloadDescriptor } from "#ports/event-log.ts";

export class IdentityCodec implements PayloadCodec {
  readonly encoding = "json";
  readonly keyId = null;

  encode(plain: Uint8Array): Uint8Array {
    return plain;
  }

  decode(stored: Uint8Array, descriptor: PayloadDescriptor): Uint8Array {
    if (descriptor.encoding === this.encoding) return stored;
    throw new AppError("storage_failed", `no codec for payloads stored as ${descriptor.encoding}`, {
      kind: "faulted",
    });
  }
}
