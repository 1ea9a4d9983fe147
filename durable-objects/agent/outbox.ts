/**
 * Outbox: what one thread tells the world outside its object, each a named cursor over its log (L10).
 *
 * `approvals` keeps the inbox of what waits for people. `directory` keeps the list of threads current. `archive` copies content that is too large for a row; a copy whose
 * original was erased meanwhile is taken back, so erasure wins over a delivery that was under way.
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { ApprovalInbox } from "#ports/approval-inbox.ts";
import type { BlobArchive } from "#ports/blob-archive.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { Directory } from "#ports/directory.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { ThreadAddress } from "#shared/ids.ts";

/** Files below this size are rows like any other and need no second home. */
export const ARCHIVE_MIN_BYTES = 262_144;

export function directoryConsumer(
  address: ThreadAddress,
  directory: Directory,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "directory",
    required: false,
    async deliver(events) {
      const last = events.at(-1);
      if (last === undefined) return;
      await directory.touch({ ...address, lastSeq: last.header.seq, at: last.header.at });
    },
  };
}

export function inboxConsumer(
  thread: ThreadAddress & { readonly owner: string },
  inbox: ApprovalInbox,
): OutboxConsumer<ThreadEvents> {
  const { tenant } = thread;
  return {
    name: "approvals",
    required: true,
    types: ["approval.requested", "approval.decided"],
    async deliver(events) {
      for (const { type, header, payload } of events) {
        // Erased before it was told: its run is over, and nothing of it waits.
        if (payload === null) continue;
        if (type === "approval.requested") {
          const { kind, tool, expiresAt } = payload;
          const place = { approval: header.id, run: header.run ?? "", call: header.call ?? "" };
          const open = { decision: null, decidedBy: null, decidedAt: null };
          const asked = { kind, tool, expiresAt, requestedAt: header.at };
          await inbox.opened({ ...thread, ...place, ...asked, ...open });
        } else if (type === "approval.decided") {
          const { actor: decidedBy, at: decidedAt, cause } = header;
          const { decision } = payload;
          await inbox.closed({ tenant, approval: cause ?? "", decision, decidedBy, decidedAt });
        }
      }
    },
  };
}

export interface ArchiveSource {
  readonly tenant: string;
  readonly logId: string;
  readonly blobs: Pick<BlobStore, "get" | "has">;
  readonly archive: BlobArchive;
}

export function archiveConsumer(source: ArchiveSource): OutboxConsumer<ThreadEvents> {
  const { blobs, archive } = source;
  return {
    name: "archive",
    required: true,
    async deliver(events) {
      for (const address of events.flatMap(largeContent)) {
        const key = archiveKey(source, address);
        const content = blobs.get(address);
        if (content !== null) await archive.put(key, content);
        // Also where it was gone before: an earlier process may have died between its copy and this.
        if (!blobs.has(address)) await archive.delete([key]);
      }
    },
  };
}

export function archiveKey(
  { tenant, logId }: Pick<ArchiveSource, "tenant" | "logId">,
  address: string,
): string {
  return `${tenant}/${logId}/${address}`;
}

/** Content addresses of what an event names and its row does not hold. */
export function largeContent(event: ThreadEvent): readonly string[] {
  const { ref } = event.header.payload;
  const payload = ref === null ? [] : [ref];
  if (event.type !== "file.written" || event.payload === null) return payload;
  return event.payload.bytes < ARCHIVE_MIN_BYTES ? payload : [...payload, event.payload.digest];
}
