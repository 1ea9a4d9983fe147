/** Where a run goes on after decisions: a turn that is read from here meets no call that still waits. */
import type { ApprovalView, Caller, Reply, ThreadStub } from "#ports/thread-gateway.ts";
import { ok } from "#shared/result.ts";

export interface Decided {
  readonly run: string;
  /** Of the first of the decisions. */
  readonly seq: number;
}

/** Null when none of them is decided. A decision follows its request within a few events, or a wait. */
export async function firstDecision(
  stub: Pick<ThreadStub, "events">,
  caller: Caller,
  asked: readonly Pick<ApprovalView, "approvalId" | "seq">[],
): Promise<Reply<Decided | null>> {
  const ids = new Set(asked.map(({ approvalId }) => approvalId));
  let after = Math.max(0, ...asked.map(({ seq }) => seq));
  for (;;) {
    const page = await stub.events(caller, { after, limit: 200 });
    if (!page.ok) return page;
    const found = page.value.items.find(
      ({ header }) => header.type === "approval.decided" && ids.has(header.cause ?? ""),
    );
    if (found !== undefined) return ok({ run: found.header.run ?? "", seq: found.header.seq });
    if (page.value.next === null) return ok(null);
    after = page.value.next;
  }
}
