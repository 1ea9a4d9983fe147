/** What every provider demands of a request (K7, K8, K9): answers the first thing that is wrong, or null. */
import type { ModelRequest } from "#ports/model.ts";

export function findInvalid(request: ModelRequest): string | null {
  if (request.messages[0]?.role !== "user") return "the first message is not a user's";
  let open: string[] = [];
  const seen = new Set<string>();
  for (const message of request.messages) {
    if (message.content.length === 0) return "a message is empty";
    if (message.role !== "tool" && open.length > 0)
      return `calls without a result: ${open.join(", ")}`;
    for (const part of message.content) {
      if (part.type === "text" && part.text.trim() === "") return "a text part is blank";
      if (part.type === "call") {
        if (seen.has(part.callId)) return `call ${part.callId} stands twice`;
        seen.add(part.callId);
        open.push(part.callId);
      }
      if (part.type === "result") {
        if (open[0] !== part.callId)
          return `result ${part.callId} is not the next of ${open.join(", ")}`;
        if (part.output.trim() === "") return "a result is blank";
        open = open.slice(1);
      }
    }
  }
  return open.length > 0 ? `calls without a result at the end: ${open.join(", ")}` : null;
}
