/** What a verification has found, in words. */
import type { Verification } from "#client/types.ts";
import { formatTime, plural } from "../app/format.ts";

/** By the name of a fault; what is not here is named as it is. */
const FAULTS: { readonly [reason: string]: string } = {
  seq_unexpected: "An event is missing or out of its order.",
  hash_mismatch: "The event does not fit its hash: it was changed.",
  header_invalid: "The event cannot be read.",
  seq_mismatch: "The event belongs to another place of the log.",
  log_mismatch: "The event belongs to another log.",
  prev_mismatch: "The event was not written after the one that stands before it.",
  payload_incomplete: "A part of the event's content is missing.",
  payload_mismatch: "The event's content is not what was recorded.",
  head_mismatch: "The log ends elsewhere than was signed: events were cut off or added.",
  anchor_mismatch: "The log is not what a signed head outside of it says.",
  anchor_misplaced: "A signed head of another log stands in its place.",
  log_missing: "This log has taken the place of another that was lost.",
};

export interface VerifyWords {
  readonly ok: boolean;
  readonly verdict: string;
  readonly checks: readonly string[];
}

export function toVerifyWords(found: Verification): VerifyWords {
  const { ok, fault, from, to, base } = found;
  if (!ok && fault !== null) {
    const why = FAULTS[fault.reason] ?? `The check names it ${fault.reason}.`;
    const since =
      fault.since === 0
        ? "Nothing before it is confirmed by a signature."
        : `Up to event ${fault.since} a signed head confirms what is there.`;
    return {
      ok: false,
      verdict: `The record does not hold. The first bad event is ${fault.seq}.`,
      checks: [why, since, "Keep an export of it, and ask whoever runs this server."],
    };
  }
  const range =
    to < from
      ? "It holds no events yet."
      : `Events ${from} to ${to}: ${plural(found.events, "event")}, each built on the hash of the one before, each with the content that was recorded.`;
  return {
    ok: true,
    verdict: found.next === null ? "The record holds." : `The record holds up to event ${to}.`,
    checks: [
      range,
      anchorWords(found.anchors),
      found.erased === 0
        ? "Nothing was erased."
        : `The content of ${plural(found.erased, "event")} was erased; the chain holds without it.`,
      ...(base.seq === 0
        ? []
        : [`History up to event ${base.seq} is no longer kept; it begins at a signed head.`]),
    ],
  };
}

function anchorWords({ verified, inOneStore, newest, signing }: Verification["anchors"]): string {
  if (verified === 0 || newest === null) {
    return signing
      ? "No signed head yet: one is made at the end of each run. The chain alone was checked."
      : "This server has no signing key, so only the chain was checked: nothing outside of it can speak for it.";
  }
  const heads = `${plural(verified, "signed head")} outside of the log ${verified === 1 ? "fits" : "fit"}, the newest at event ${newest.seq} (${formatTime(newest.at)}, key ${newest.keyId}).`;
  return inOneStore === 0
    ? heads
    : `${heads} ${inOneStore} of them ${inOneStore === 1 ? "lies" : "lie"} in one of two stores only.`;
}

/** The next part of a long log, added to what was found before it. */
export function joinParts(before: Verification | null, part: Verification): Verification {
  if (before === null) return part;
  return {
    ...part,
    from: before.from,
    events: before.events + part.events,
    erased: before.erased + part.erased,
    anchors: {
      ...part.anchors,
      verified: before.anchors.verified + part.anchors.verified,
      inOneStore: before.anchors.inOneStore + part.anchors.inOneStore,
      newest: part.anchors.newest ?? before.anchors.newest,
    },
  };
}
