/** Groups, order and number of a question: "per island", "sorted by price", "top 5", "the heaviest". */
import { columnOfAdjective } from "./columns.ts";
import type { Filter, GroupKey } from "./query.ts";
import { isLabel, type Rank, type Scan, toGroup, use } from "./reading.ts";
import { ADJECTIVES, OPERATION_WORDS } from "./words.ts";

const COMPARE = /\b(?:compare|comparison|versus|vs)\b/i;
const DESCENDING = new Set([
  "top",
  "highest",
  "largest",
  "biggest",
  "greatest",
  "most",
  "best",
  "longest",
  "deepest",
  "latest",
  "newest",
]);
const ASCENDING = new Set([
  "bottom",
  "lowest",
  "smallest",
  "least",
  "fewest",
  "worst",
  "shortest",
  "earliest",
]);
const GROUP_WORDS = new Set(["by", "per", "each", "every", "across", "between"]);
const DATE_PARTS: ReadonlyMap<string, "year" | "month"> = new Map([
  ["year", "year"],
  ["month", "month"],
  ["yearly", "year"],
  ["monthly", "month"],
]);

export function findGroups(scan: Scan): GroupKey[] {
  const groups: GroupKey[] = [];
  const dates = scan.profile.columns.filter(({ type }) => type === "date");
  for (let at = 0; at < scan.tokens.length; at++) {
    const word = scan.tokens[at]?.lower ?? "";
    const isDistribution =
      word === "of" && /^(?:distribution|breakdown|split)$/.test(scan.tokens[at - 1]?.lower ?? "");
    const opens = isDistribution || (GROUP_WORDS.has(word) && !isSortKey(scan, at));
    const joins = word === "and" && groups.length > 0 && scan.used.has(at - 1);
    const every = dates.length === 1 && word.endsWith("ly") ? DATE_PARTS.get(word) : undefined;
    if (every !== undefined && dates[0] !== undefined) {
      groups.push({ column: dates[0].name, part: every });
      use(scan, [at, at + 1]);
    }
    if (!opens && !joins) continue;
    let next = at + 1;
    while (["each", "the", "every", "different"].includes(scan.tokens[next]?.lower ?? "")) next++;
    const mention = scan.mentions.find((candidate) => candidate.start === next);
    const column =
      mention?.kind === "column" && mention.columns.length === 1 ? mention.columns[0] : undefined;
    const part = DATE_PARTS.get(scan.tokens[next]?.lower ?? "");
    if (mention !== undefined && column !== undefined && word !== "between") {
      if (joins && column.type === "number" && !isLabel(column)) continue;
      groups.push(toGroup(column));
      use(scan, [at, mention.end]);
    } else if (part !== undefined && dates.length === 1 && dates[0] !== undefined) {
      groups.push({ column: dates[0].name, part });
      use(scan, [at, next + 1]);
    }
  }
  return groups;
}

/** "top 5 products by revenue" and "sorted by price" name an order, not a group. */
function isSortKey({ tokens, mentions }: Scan, at: number): boolean {
  if (tokens[at]?.lower !== "by") return false;
  if (
    ["sorted", "sort", "ordered", "order", "ranked", "rank"].includes(tokens[at - 1]?.lower ?? "")
  )
    return true;
  const ranked = tokens
    .slice(0, at)
    .some((token) => DESCENDING.has(token.lower) || ASCENDING.has(token.lower));
  const named = mentions.find((mention) => mention.start >= at + 1 && mention.start <= at + 3);
  return (
    ranked &&
    (named?.kind !== "column" ||
      named.columns[0]?.type === "number" ||
      OPERATION_WORDS.has(tokens[at + 1]?.lower ?? ""))
  );
}

/** "sorted by price" and "highest first" order what is shown and leave nothing out. */
export function findSort(scan: Scan): Rank | null {
  const { tokens, mentions } = scan;
  const text = tokens.map((token) => token.lower).join(" ");
  const order = /\b(?:ascending|asc|(?:lowest|smallest|cheapest|oldest) first)\b/.test(text)
    ? ("asc" as const)
    : ("desc" as const);
  for (const [at, token] of tokens.entries()) {
    if (
      tokens[at + 1]?.lower === "first" &&
      /^(?:highest|largest|biggest|lowest|smallest)$/.test(token.lower)
    ) {
      use(scan, [at, at + 2]);
      return { order, count: null, column: null, sortsOnly: true };
    }
    if (
      !/^(?:sort|sorted|order|ordered|rank|ranked)$/.test(token.lower) ||
      tokens[at + 1]?.lower !== "by"
    )
      continue;
    const mention = mentions.find(
      (candidate) => candidate.start >= at + 2 && candidate.start <= at + 3,
    );
    const column =
      mention?.kind === "column" && mention.columns.length === 1 ? mention.columns[0] : undefined;
    use(scan, [at, mention === undefined ? at + 2 : mention.end]);
    return { order, count: null, column: column ?? null, sortsOnly: true };
  }
  return null;
}

export function findRank(scan: Scan): Rank | null {
  for (const [at, token] of scan.tokens.entries()) {
    if (scan.used.has(at)) continue;
    const adjective = ADJECTIVES.get(token.lower);
    const isComparative =
      token.lower.endsWith("er") ||
      (token.lower === "expensive" &&
        !["most", "least"].includes(scan.tokens[at - 1]?.lower ?? ""));
    const column =
      adjective === undefined || isComparative
        ? null
        : columnOfAdjective(token.lower, scan.profile);
    const isDescending = DESCENDING.has(token.lower);
    if (!isDescending && !ASCENDING.has(token.lower) && column === null) continue;
    const count = [scan.tokens[at + 1], scan.tokens[at - 1]].find(
      (near) => near !== undefined && near.number !== null && Number.isInteger(near.number),
    );
    if (count !== undefined)
      use(scan, [scan.tokens.indexOf(count), scan.tokens.indexOf(count) + 1]);
    use(scan, [at, at + 1]);
    const next = ADJECTIVES.has(scan.tokens[at + 1]?.lower ?? "")
      ? columnOfAdjective(scan.tokens[at + 1]?.lower ?? "", scan.profile)
      : null;
    if (next !== null) use(scan, [at + 1, at + 2]);
    const order = column === null ? (isDescending ? "desc" : "asc") : (adjective?.order ?? "desc");
    return { order, count: count?.number ?? null, column: column ?? next, sortsOnly: false };
  }
  return null;
}

/** "compare Adelie and Gentoo by mass" wants one line for each of the values. */
export function withComparison(
  by: readonly GroupKey[],
  filters: readonly Filter[],
  text: string,
): readonly GroupKey[] {
  if (by.length > 0 || !COMPARE.test(text)) return by;
  const several = filters.find((filter) => filter.op === "in" && filter.values.length > 1);
  return several === undefined ? by : [{ column: several.column, part: "value" }];
}
