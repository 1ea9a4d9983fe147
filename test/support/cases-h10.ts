/** Handed case H10: what is done to the export of a log of a hundred events, and the verdict it must get. */
import type { JsonObject } from "#shared/json.ts";
import { isEvent, rehash, reseal, withPayload, type EventRecord } from "./tampering.ts";

type Change = (records: readonly JsonObject[]) => readonly JsonObject[];
const dropping =
  (isGone: (seq: number) => boolean): Change =>
  (records) =>
    records.filter((record) => !isEvent(record) || !isGone(record.seq));
const changing =
  (seq: number, change: (event: EventRecord) => JsonObject): Change =>
  (records) =>
    records.map((record) => (isEvent(record) && record.seq === seq ? change(record) : record));
const withoutAnchors: Change = (records) => records.filter((record) => !("anchor" in record));

export const TAMPER: readonly (readonly [name: string, change: Change, verdict: string])[] = [
  ["delete last 2", dropping((seq) => seq > 98), "head_mismatch at 99"],
  [
    "delete last 2, with every promise but a signed one",
    (records) => reseal(withoutAnchors(dropping((seq) => seq > 98)(records))),
    "head_mismatch at 99",
  ],
  ["delete all", dropping(() => true), "head_mismatch at 1"],
  [
    "delete all, its first line too",
    (records) =>
      reseal(withoutAnchors(records).filter((record) => !isEvent(record) && !("log" in record))),
    "log_missing at 1",
  ],
  ["delete first 10", dropping((seq) => seq <= 10), "seq_unexpected at 1"],
  [
    "swap 5 and 6",
    (records) => {
      const at = (seq: number) =>
        records.findIndex((record) => isEvent(record) && record.seq === seq);
      const swapped = [...records];
      [swapped[at(5)], swapped[at(6)]] = [records[at(6)] ?? {}, records[at(5)] ?? {}];
      return swapped;
    },
    "seq_unexpected at 5",
  ],
  [
    "edit one byte of a payload",
    changing(50, (event) => ({ ...event, payload: flip(event.payload ?? "") })),
    "payload_mismatch at 50",
  ],
  ["replace a payload by its tombstone (legal erasure)", (records) => records, "ok erased=1"],
  [
    "re-hash the whole chain after an edit",
    (records) =>
      reseal(rehash(changing(50, (event) => withPayload(event, { state: { b: 2 } }))(records))),
    "anchor_mismatch at 100",
  ],
];
function flip(payload: string): string {
  const bytes = Buffer.from(payload, "base64");
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  return bytes.toString("base64");
}
