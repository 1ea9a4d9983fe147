/**
 * Work that many ask for at once, done one at a time. Who asks while it runs shares one more run behind it, so each caller's promise
 * settles with work that began after the call, and a burst of any length costs two.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  function run(): Promise<void> {
    running = work().finally(() => {
      running = null;
    });
    return running;
  }
  function behind(current: Promise<void>): Promise<void> {
    const start = (): Promise<void> => {
      next = null;
      return run();
    };
    return current.then(start, start);
  }
  return () => {
    if (next !== null) return next;
    if (running === null) return run();
    next = behind(running);
    return next;
  };
}
