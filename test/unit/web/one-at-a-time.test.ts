import { describe, expect, it } from "vitest";
import { oneAtATime } from "../../../web/app/one-at-a-time.ts";

/** Work that ends when it is told to, and counts. */
function controlled() {
  const ends: ((error?: Error) => void)[] = [];
  let most = 0;
  let open = 0;
  const work = async (): Promise<void> => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve, reject) =>
      ends.push((error) => (error === undefined ? resolve() : reject(error))),
    ).finally(() => {
      open -= 1;
    });
  };
  return { work, ends, most: () => most };
}

/** What is due in this turn of the event loop has been done. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("one at a time", () => {
  it("[W20] a burst costs two: one that runs, and one behind it for all that asked meanwhile", async () => {
    const { work, ends, most } = controlled();
    const read = oneAtATime(work);
    const all = [read(), read(), read(), read()];
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await all[0];
    await turn();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await Promise.all(all);
    expect(ends).toHaveLength(2);
    expect(most()).toBe(1);
  });

  it("[W20] who asks while the last one runs is answered by one that began later", async () => {
    const { work, ends } = controlled();
    const read = oneAtATime(work);
    void read();
    void read();
    ends[0]?.();
    await turn();
    let answered = false;
    const late = read().then(() => {
      answered = true;
    });
    ends[1]?.();
    await turn();
    expect([answered, ends.length]).toEqual([false, 3]);
    ends[2]?.();
    await late;
  });

  it("[W20] a failure is told to who waits for it, and ends nothing else", async () => {
    const { work, ends, most } = controlled();
    const read = oneAtATime(work);
    const first = read();
    const second = read();
    ends[0]?.(new Error("away"));
    await expect(first).rejects.toThrow("away");
    await turn();
    ends[1]?.();
    await second;
    expect(most()).toBe(1);
  });
});
