/**
 * Payloads at rest: plain JSON to salted, digested bytes, in the row or in the blob store, and back.
 *
 * L4: the digest covers salt and stored bytes. L7: lone surrogates become U+FFFD before hashing. L8: what exceeds
 * 256 KiB lies in chunks under `blob:<digest>`; the salt makes that address unique to its event, so erasing one event
 * never takes another's content.
 */
import { AppError } from "#shared/errors.ts";
import { fromUtf8, toWellFormedJson, utf8, type Json } from "#shared/json.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { EventHeader, PayloadCodec, PayloadDescriptor } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import type { EventRow } from "./log-store.ts";

export const MAX_INLINE_BYTES = 262_144;
const SALT_BYTES = 16;
/** `JSON.stringify` writes a lone surrogate as this escape, so most payloads are cleared without a walk. */
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

export interface SealedPayload {
  readonly descriptor: PayloadDescriptor;
  readonly salt: Uint8Array;
  /** Null when the bytes went to the blob store. */
  readonly inline: Uint8Array | null;
  /** The payload as stored: well-formed. */
  readonly value: unknown;
}

export class PayloadStore {
  readonly #blobs: BlobStore;
  readonly #hasher: Hasher;
  readonly #ids: Ids;
  readonly #codec: PayloadCodec;

  constructor(
    blobs: BlobStore,
    parts: { readonly hasher: Hasher; readonly ids: Ids; readonly codec: PayloadCodec },
  ) {
    this.#blobs = blobs;
    this.#hasher = parts.hasher;
    this.#ids = parts.ids;
    this.#codec = parts.codec;
  }

  seal(payload: unknown): SealedPayload {
    let value = payload;
    let text = JSON.stringify(value);
    if (LONE_SURROGATE.test(text)) {
      value = toWellFormedJson(payload as Json);
      text = JSON.stringify(value);
    }
    const stored = this.#codec.encode(utf8(text));
    const salt = this.#ids.bytes(SALT_BYTES);
    const digest = this.#hasher.sha256(salt, stored);
    const ref = stored.byteLength > MAX_INLINE_BYTES ? `blob:${digest}` : null;
    if (ref !== null) this.#blobs.put(ref, stored);
    const descriptor = {
      bytes: stored.byteLength,
      digest,
      encoding: this.#codec.encoding,
      keyId: this.#codec.keyId,
      ref,
    };
    return { descriptor, salt, inline: ref === null ? stored : null, value };
  }

  /** Null once erased. */
  stored(row: EventRow, header: EventHeader): Uint8Array | null {
    if (row.salt === null) return null;
    const { ref } = header.payload;
    if (ref === null) return row.payload;
    const bytes = this.#blobs.get(ref);
    if (bytes === null) {
      throw new AppError("storage_failed", `the payload of event ${row.seq} is missing`, {
        kind: "faulted",
        detail: { seq: row.seq },
      });
    }
    return bytes;
  }

  open(row: EventRow, header: EventHeader): Json {
    const stored = this.stored(row, header);
    if (stored === null) return null;
    return JSON.parse(fromUtf8(this.#codec.decode(stored, header.payload))) as Json;
  }

  drop(header: EventHeader): void {
    if (header.payload.ref !== null) this.#blobs.delete(header.payload.ref);
  }
}
