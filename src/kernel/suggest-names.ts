/** Names near to one that does not exist, nearest first (K21). Only from the given list: it must leak no other. */
const MAX_SUGGESTIONS = 5;
/** Longer than any tool name, and a bound on work for a hostile one. */
const MAX_COMPARED = 64;

export function suggestNames(wanted: string, names: readonly string[]): readonly string[] {
  const near = wanted.slice(0, MAX_COMPARED).toLowerCase();
  return names
    .map((name) => ({
      name,
      distance: editDistance(near, name.slice(0, MAX_COMPARED).toLowerCase()),
    }))
    .filter(({ name, distance }) => distance <= Math.ceil(Math.max(near.length, name.length) / 2))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name);
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitute = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitute, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
