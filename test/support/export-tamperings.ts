/**
 * Ways to tamper with the export of a tenant whose first log is a run of three steps with approvals (40 events, the last one
 * signed), each with the verdict it gets.
 */
import type { JsonObject } from "#shared/json.ts";
import {
  headerOf,
  isEvent,
  rehash,
  reseal,
  withHeader,
  withPayload,
  type EventRecord,
} from "./tampering.ts";

/** Ids of the two logs. */
export const FIRST = "log_first";
export const SECOND = "log_second";

type Change = (records: readonly JsonObject[]) => readonly JsonObject[];

export const isOf = (record: JsonObject, logId: string): record is JsonObject & EventRecord =>
  isEvent(record) && headerOf(record)["logId"] === logId;
const anchorOf = (record: JsonObject): JsonObject | null =>
  ((record["anchor"] ?? record["index"]) as JsonObject | undefined) ?? null;

/** Changes one event of the first log. */
const edit =
  (seq: number, change: (event: EventRecord) => JsonObject): Change =>
  (records) =>
    records.map((record) => (isOf(record, FIRST) && record.seq === seq ? change(record) : record));
/** Leaves out what belongs to the first log. */
const without =
  (belongs: (record: JsonObject) => boolean): Change =>
  (records) =>
    records.filter((record) => !belongs(record));
const isFirst = (record: JsonObject): boolean =>
  isOf(record, FIRST) ||
  ((record["log"] ?? record["anchor"]) as JsonObject | undefined)?.["logId"] === FIRST;
const eventAt = (
  records: readonly JsonObject[],
  seq: number,
  logId: string = FIRST,
): EventRecord => {
  const found = records.find((record) => isOf(record, logId) && record["seq"] === seq);
  if (found === undefined || !isEvent(found)) throw new Error(`no event ${seq}`);
  return found;
};
const withAnchors =
  (change: (anchor: JsonObject) => JsonObject): Change =>
  (records) =>
    records.map((record) => {
      const anchor = anchorOf(record);
      if (anchor?.["logId"] !== FIRST) return record;
      return "anchor" in record ? { anchor: change(anchor) } : { index: change(anchor) };
    });
const rewritten = (seq: number, change: (event: EventRecord) => JsonObject): Change => {
  const edited = edit(seq, change);
  return (records) => reseal(rehash(edited(records)));
};

const APPROVED = 13;
const OUTCOME = 6;
const RESULT = 24;
const HEAD = 40;
const FORGED = rewritten(OUTCOME, (event) => withPayload(event, { parts: [] }));
const DENIED = Buffer.from('{"decision":"denied","comment":null,"answer":null}').toString("base64");

interface Tampering {
  readonly name: string;
  readonly change: Change;
  readonly seq: number;
  readonly reason: string;
}
export const TAMPERINGS: readonly Tampering[] = [
  {
    name: "an edited header",
    change: edit(5, (event) => ({
      ...event,
      header: event.header.replace('"step":1', '"step":2'),
    })),
    seq: 5,
    reason: "hash_mismatch",
  },
  {
    name: "a deleted event",
    change: without((record) => isOf(record, FIRST) && record.seq === 7),
    seq: 7,
    reason: "seq_unexpected",
  },
  {
    name: "two events in the other order",
    change: (records) => {
      const [left, right] = [eventAt(records, 5), eventAt(records, 6)];
      return records.map((record) => {
        if (Object.is(record, left)) return { ...right };
        return Object.is(record, right) ? { ...left } : record;
      });
    },
    seq: 5,
    reason: "seq_unexpected",
  },
  {
    name: "a cut tail",
    change: without((record) => isOf(record, FIRST) && record.seq >= 39),
    seq: 39,
    reason: "head_mismatch",
  },
  {
    name: "a cut tail, with its signed heads, under a first line that promises no more",
    change: (records) =>
      reseal(
        without((record) => "anchor" in record || (isOf(record, FIRST) && record.seq >= 39))(
          records,
        ),
      ),
    seq: 39,
    reason: "head_mismatch",
  },
  {
    name: "all events of a log",
    change: (records) =>
      reseal(without((record) => isFirst(record) && !("log" in record))(records)),
    seq: 1,
    reason: "head_mismatch",
  },
  {
    name: "a whole log",
    change: (records) => reseal(without(isFirst)(records)),
    seq: 1,
    reason: "log_missing",
  },
  { name: "a re-hash of all behind an edit", change: FORGED, seq: HEAD, reason: "anchor_mismatch" },
  {
    name: "a swapped payload",
    change: (records) =>
      edit(RESULT, (event) => {
        const { payload, salt } = eventAt(records, 21);
        return { ...event, payload, salt };
      })(records),
    seq: RESULT,
    reason: "payload_mismatch",
  },
  {
    name: "half an erasure",
    change: edit(RESULT, (event) => ({ ...event, salt: null })),
    seq: RESULT,
    reason: "payload_incomplete",
  },
  {
    name: "a forged head",
    change: (records) => {
      const forged = FORGED(records);
      const { hash } = eventAt(forged, HEAD);
      return withAnchors((anchor) => ({ ...anchor, hash }))(forged);
    },
    seq: HEAD,
    reason: "signature_invalid",
  },
  {
    name: "a replayed head: one of another log",
    change: (records) => {
      const other = records.map(anchorOf).find((anchor) => anchor?.["logId"] === SECOND);
      return records.map((record) =>
        "anchor" in record && isFirst(record) ? { anchor: other ?? null } : record,
      );
    },
    seq: 0,
    reason: "anchor_misplaced",
  },
  {
    name: "a head under a key that nobody published",
    change: withAnchors((anchor) => ({ ...anchor, keyId: "k".repeat(43) })),
    seq: HEAD,
    reason: "key_unknown",
  },
  {
    name: "a duplicate sequence",
    change: (records) =>
      records.flatMap((record) =>
        isOf(record, FIRST) && record.seq === 8 ? [record, record] : [record],
      ),
    seq: 9,
    reason: "seq_unexpected",
  },
  {
    name: "a splice from another log",
    change: (records) => edit(9, () => ({ ...eventAt(records, 9, SECOND) }))(records),
    seq: 9,
    reason: "log_mismatch",
  },
  {
    name: "a changed cost",
    change: edit(OUTCOME, (event) => ({
      ...event,
      header: event.header.replace('"costMicros":null', '"costMicros":1'),
    })),
    seq: OUTCOME,
    reason: "hash_mismatch",
  },
  {
    name: "a changed cost, its own hash made to fit",
    change: edit(OUTCOME, (event) => withHeader(event, { costMicros: 1 })),
    seq: OUTCOME + 1,
    reason: "prev_mismatch",
  },
  {
    name: "a changed approval",
    change: edit(APPROVED, (event) => ({ ...event, payload: DENIED })),
    seq: APPROVED,
    reason: "payload_mismatch",
  },
  {
    name: "an approval by somebody else, rewritten to the end",
    change: rewritten(APPROVED, (event) => withHeader(event, { actor: "usr_2" })),
    seq: HEAD,
    reason: "anchor_mismatch",
  },
];
