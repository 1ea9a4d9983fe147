/**
 * Follows one run to its end over as many connections as that takes. A stream that ends before the run did is opened
 * again after the last position seen, so that each event arrives once whatever happened to the server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./api.mjs";
import { readEvents } from "./sse.mjs";

/** A server that ends each stream at once must not be asked in a tight loop. */
const REOPEN_MS = 250;
const FINAL = new Set(["run.completed", "run.failed", "run.cancelled"]);

/** Calls `onFrame(kind, data)` for each frame; resolves with the type of the event that ended the run. */
export async function followRun({ api, receipt, signal, onFrame }) {
  let last = null;
  for (;;) {
    const response = await api.openStream(receipt.stream, last, signal);
    try {
      for await (const frame of readEvents(response.body)) {
        if (frame.id !== null) last = frame.id;
        const data = JSON.parse(frame.data);
        if (frame.event === "error") throw new ApiError(data.status ?? 500, data);
        onFrame(frame.event, data);
        const ended = finalEvent(frame.event, data, receipt.runId);
        if (ended !== null) return ended;
      }
    } catch (error) {
      // A body that breaks off is a server that went away; anything it said on purpose is an answer.
      if (signal.aborted || (error instanceof ApiError && !isPassing(error))) throw error;
    }
    await sleep(REOPEN_MS, undefined, { signal });
  }
}

function finalEvent(kind, data, runId) {
  if (kind !== "event" || !FINAL.has(data.header.type)) return null;
  return runId === null || data.header.run === runId ? data.header.type : null;
}

function isPassing(error) {
  return error.status >= 500;
}
