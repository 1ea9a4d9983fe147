/** The whole list of references that a recorded request stands for (K10). */
import type { PromptRef, ThreadEvent } from "./events.ts";
import { resolveRefs } from "./window.ts";

/** Back to the newest full listing, then forward again. */
export function followRefs(
  read: (seq: number) => ThreadEvent | null,
  event: ThreadEvent,
): readonly PromptRef[] | null {
  const changes: Extract<ThreadEvent, { readonly type: "model.requested" }>[] = [];
  let current: ThreadEvent | null = event;
  while (current?.type === "model.requested" && current.payload !== null) {
    changes.push(current);
    const { base }: { readonly base: number | null } = current.payload.refs;
    if (base === null) break;
    // A base lies before its change: anything else would never end.
    if (base >= current.header.seq) return null;
    current = read(base);
  }
  let resolved: { readonly seq: number; readonly refs: readonly PromptRef[] } | null = null;
  for (const change of changes.toReversed()) {
    const refs: readonly PromptRef[] | null =
      change.payload === null ? null : resolveRefs(change.payload.refs, resolved);
    if (refs === null) return null;
    resolved = { seq: change.header.seq, refs };
  }
  return resolved?.refs ?? null;
}
