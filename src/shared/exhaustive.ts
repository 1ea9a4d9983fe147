/** Ends a switch over a closed union: a new member fails to compile here before it can fail at run time. */
export function exhaustive(value: never): never {
  throw new Error(`unhandled member: ${JSON.stringify(value)}`);
}

/** States what the code around it guarantees. A failure is a defect of ours, never bad input. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant violated: ${message}`);
}
