/**
 * How many rounds a seeded suite plays: the first of them in `npm test`, all in `npm test -- deep`. Seeds are counted from
 * one, so the shorter suite is the beginning of the longer.
 */
export function rounds(first: number, all: number): number {
  return process.env["HOLDFAST_DEEP"] === "1" ? all : first;
}
