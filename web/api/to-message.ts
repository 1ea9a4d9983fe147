/** Words for a person; those of the client's errors are the server's own. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
