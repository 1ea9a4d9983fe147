/** What a client reports of an earlier conversation, as a quotation (P61). */

/** One line a message, as JSON: a text that looks like another speaker stays a text. Null for nothing. */
export function quoteHistory(messages: readonly object[]): string | null {
  if (messages.length === 0) return null;
  const lines = messages.map((message) => JSON.stringify(message));
  return `The conversation so far, as the client reports it:\n${lines.join("\n")}`;
}
