/** The one place that writes to the console: a Worker's log is what its operator reads. */
export function writeLine(line: string): void {
  // oxlint-disable-next-line no-console -- this is the sink that everything else is given
  console.log(line);
}
