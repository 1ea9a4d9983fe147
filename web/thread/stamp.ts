/** A word that changes whenever something happened that the rest of the page should read again, and not with each bit of text. */
import type { Chat } from "./use-chat.ts";

export function toStamp({
  messages,
  busy,
  connection,
}: Pick<Chat, "messages" | "busy" | "connection">): string {
  const last = messages.at(-1);
  const parts = last?.parts.map((part) =>
    "state" in part ? `${part.type}.${part.state}` : part.type,
  );
  return [connection, busy, messages.length, last?.id, ...(parts ?? [])].join(" ");
}
