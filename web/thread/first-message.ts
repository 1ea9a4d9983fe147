/**
 * What a conversation begins with. The start screen makes the thread and goes there; the message waits here for the
 * moment until the conversation is connected. A reload in between loses it, as it would lose a typed text.
 */
import type { Place } from "../api/types.ts";

const waiting = new Map<string, string>();
const key = ({ agent, thread }: Place): string => `${agent}/${thread}`;

export function leaveFirstMessage(place: Place, text: string): void {
  waiting.set(key(place), text);
}

export function takeFirstMessage(place: Place): string | null {
  const text = waiting.get(key(place)) ?? null;
  waiting.delete(key(place));
  return text;
}
