/** D1 as one process sees it: it may die before a write is there, and before it hears that it is. */
import type { Mortal } from "./mortal.ts";

export function mortalD1(d1: D1Database, life: Mortal): D1Database {
  const cross = <T>(query: string, work: () => Promise<T>): Promise<T> => {
    if (!/^\s*select/i.test(query)) return life.call(`D1 ${query.slice(0, 40)}`, work);
    life.live();
    return work();
  };
  const wrap = (query: string, inner: D1PreparedStatement): D1PreparedStatement => {
    const mortal = {
      // What a batch of the database in Node looks for.
      now: "now" in inner ? inner.now : undefined,
      bind: (...params: unknown[]) => wrap(query, inner.bind(...params)),
      run: () => cross(query, () => inner.run()),
      all: () => cross(query, () => inner.all()),
      raw: () => cross(query, () => inner.raw()),
      first: () => cross(query, () => inner.first()),
    };
    return mortal as unknown as D1PreparedStatement;
  };
  const mortal: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (query) => wrap(query, d1.prepare(query)),
    batch: (statements) => life.call("D1 batch", () => d1.batch(statements)),
  };
  return mortal as D1Database;
}
