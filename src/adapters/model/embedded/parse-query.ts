/**
 * A question and the profile of its table to a query, or to the reason why there is none.
 *
 * Reads in a fixed order: conditions, groups, order and number, operation, what it is about. Words that are left over
 * in a place where they would change the answer make it a problem, because a number for another question is worse than
 * no number.
 */
import type { Result } from "#shared/result.ts";
import { err, ok } from "#shared/result.ts";
import { columnOfAdjective, findMentions, type ColumnMention } from "./columns.ts";
import { findFilters, type Scan, use } from "./filters.ts";
import type { Aggregate, Filter, GroupKey, Measure, Problem, Query } from "./query.ts";
import type { Column, TableProfile } from "./table.ts";
import {
  ADJECTIVES,
  nameWords,
  OPERATION_WORDS,
  STOP_WORDS,
  type Token,
  tokenise,
} from "./words.ts";

export interface Parsed {
  readonly query: Query;
  /** Words that were taken to name the rows, as "penguins" in "how many penguins". */
  readonly rowNouns: readonly string[];
}

const DESCRIBE =
  /\b(?:describe|summari[sz]e|summary|overview|explore|schema|structure|what(?:'s| is| are)? in\b|(?:what|which|list|show|name)(?: me)?(?: are)?(?: all)?(?: the)? (?:columns|fields)|tell me about|report|analy[sz]e|look at|have a look|what does .* contain|about this|columns)\b/i;
const SHARE = /\b(?:percent(?:age)?|share|fraction|proportion)\b|%/i;
const COUNT = /\b(?:how many|number of|count|how often|total number|amount of)\b/i;
const DISTINCT = /\b(?:distinct|unique|different)\b/i;
const LISTING = /\b(?:what|which|list|show|name)\b/i;
const ROWS =
  /\b(?:show|list|display|give|print|find|get|rows?|records?|entries|examples?|sample)\b/i;
const COMMON = /\b(?:most|least) (?:common|frequent|popular|often)|\bmode\b/i;
const COMPARE = /\b(?:compare|comparison|versus|vs)\b/i;
const OPERATIONS: readonly (readonly [RegExp, Aggregate])[] = [
  [/\b(?:average|averages|mean|avg|typical)\b/i, "mean"],
  [/\bmedian\b/i, "median"],
  [/\b(?:sum|total(?! number))\b/i, "sum"],
  [/\b(?:minimum|min)\b/i, "min"],
  [/\b(?:maximum|max)\b/i, "max"],
];
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
/** Numbers that name something: adding them up means nothing. */
const LABEL =
  /\b(?:id|year|code|zip|postcode|phone|month|day|class|number|no|index|rank|latitude|longitude|lat|lon)\b/;

interface Reading extends Scan {
  readonly text: string;
  readonly filters: Filter[];
  readonly by: readonly GroupKey[];
  readonly operations: readonly Aggregate[];
  readonly rank: Rank | null;
  /** Columns with no other role, in the order of the question. */
  readonly targets: readonly Column[];
}

interface Rank {
  readonly order: "desc" | "asc";
  readonly count: number | null;
  readonly column: Column | null;
  /** An order alone ("highest first"): nothing is left out. */
  readonly sortsOnly: boolean;
}

export function parseQuery(text: string, profile: TableProfile): Result<Parsed, Problem> {
  const tokens = tokenise(text);
  const scan: Scan = { tokens, profile, mentions: findMentions(tokens, profile), used: new Set() };
  const by = findGroups(scan);
  const sort = findSort(scan);
  const filters = findFilters(scan);
  const rank = findRank(scan) ?? sort;
  const open = scan.mentions.filter(
    (mention): mention is ColumnMention =>
      mention.kind === "column" && !scan.used.has(mention.start),
  );
  const ambiguous = open.find((mention) => mention.columns.length > 1);
  if (ambiguous !== undefined) return err(toAmbiguous(ambiguous, tokens));
  const mixed = scan.mentions.find(
    (mention) => mention.kind === "value" && !scan.used.has(mention.start),
  );
  if (mixed?.kind === "value")
    return err({
      reason: "ambiguous",
      word: words(tokens, mixed),
      candidates: [...new Set(mixed.hits.map((hit) => hit.column))],
    });
  for (const mention of open) use(scan, [mention.start, mention.end]);
  const named = [...new Set(open.flatMap((mention) => mention.columns))];
  // "remote employees" beside another column is a condition; alone, it is what is asked about.
  const flags = named.filter(
    (column) => column.type === "boolean" && named.length > 1 && !DISTINCT.test(text),
  );
  filters.push(...flags.map((column) => toFlag(column, text)));
  const targets = named.filter((column) => !flags.includes(column));
  const spoken = tokens
    .filter(
      (_, at) =>
        !scan.mentions.some(
          (mention) => mention.kind === "column" && at >= mention.start && at < mention.end,
        ),
    )
    .map((token) => token.lower)
    .join(" ");
  const operations = OPERATIONS.filter(([pattern]) => pattern.test(spoken)).map(
    ([, operation]) => operation,
  );
  const reading: Reading = {
    ...scan,
    text,
    filters,
    by: withComparison(by, filters, text),
    operations,
    rank,
    targets,
  };
  const query = decideQuery(reading);
  if (!query.ok) {
    const { unmatched } = leftOver(reading);
    return unmatched.length > 0 && query.error.reason === "no_column"
      ? err({ reason: "unmatched", words: unmatched })
      : query;
  }
  // A row shows all its columns; any other query must have a place for each that was named.
  const unused =
    query.value.kind === "rows"
      ? undefined
      : targets.find(
          (column) => !JSON.stringify(query.value).includes(JSON.stringify(column.name)),
        );
  if (unused !== undefined) return err({ reason: "unmatched", words: [unused.name] });
  const left = leftOver(reading);
  if (left.unmatched.length > 0) return err({ reason: "unmatched", words: left.unmatched });
  return ok({ query: query.value, rowNouns: left.rowNouns });
}

function decideQuery(reading: Reading): Result<Query, Problem> {
  const { text, filters, by, operations, rank, targets } = reading;
  const isCount = COUNT.test(text);
  if (
    SHARE.test(text) &&
    operations.length === 0 &&
    (filters.length > 0 || by.length > 0 || targets.length > 0)
  )
    return toShare(reading);
  if (COMMON.test(text)) return toMostCommon(reading);
  if (operations.length > 0) return toAggregate(reading, operations);
  if (rank !== null && !isCount && !(rank.sortsOnly && by.length > 0))
    return toRanked(reading, rank);
  if (isCount) return ok(toCount(reading));
  const [first] = targets;
  if (DISTINCT.test(text) && first !== undefined)
    return ok({ kind: "values", column: first.name, filters });
  if (DESCRIBE.test(text) && filters.length === 0 && by.length === 0 && targets.length === 0)
    return ok({ kind: "describe" });
  if (by.length > 0)
    return targets.length > 0
      ? toAggregate(reading, [usualOperation(targets)])
      : ok(aggregate(reading, [{ op: "count" }]));
  if (first !== undefined && first.type === "number" && !isLabel(first)) {
    return toAggregate(
      reading,
      usualOperation(targets) === "sum" ? ["sum"] : ["mean", "min", "max"],
    );
  }
  if (first !== undefined && filters.length === 0 && LISTING.test(text))
    return ok({ kind: "values", column: first.name, filters });
  if (
    ROWS.test(text) &&
    (filters.length > 0 || /\b(?:rows?|records?|entries|examples?|sample)\b/i.test(text))
  ) {
    return ok({ kind: "rows", filters, sort: null, limit: firstNumber(reading) ?? 10 });
  }
  if (filters.length > 0) return ok(aggregate(reading, [{ op: "count" }]));
  return err({ reason: "beyond" });
}

function toAggregate(reading: Reading, operations: readonly Aggregate[]): Result<Query, Problem> {
  const { targets, rank, by, profile } = reading;
  const all =
    rank?.column == null || targets.includes(rank.column) ? targets : [...targets, rank.column];
  const numeric = all.filter(isMeasurable);
  const extreme = operations.every((operation) => operation === "min" || operation === "max");
  const chosen = numeric.length > 0 ? numeric : extreme ? all : [];
  const only = profile.columns.filter((column) => isMeasurable(column) && !isLabel(column));
  const op = operations[0] ?? "mean";
  const wrong = all.find((column) => !isMeasurable(column));
  if (chosen.length === 0 && wrong !== undefined)
    return err({ reason: "not_numeric", column: wrong.name, op });
  // "median total of orders" may mean a column that is called Total.
  const namesake = profile.columns.filter(
    (column) =>
      isMeasurable(column) &&
      OPERATION_WORDS.has(column.name.toLowerCase()) &&
      reading.text.toLowerCase().includes(column.name.toLowerCase()),
  );
  if (chosen.length === 0 && namesake.length === 1 && operations.length > 1)
    return toAggregate(
      { ...reading, targets: namesake },
      operations.filter((operation) => operation !== "sum"),
    );
  const measured = chosen.length > 0 ? chosen : only.length === 1 ? only : namesake;
  if (measured.length === 0) return err({ reason: "no_column", op });
  const measures = measured.flatMap((column) =>
    operations.map((operation): Measure => ({ op: operation, column: column.name })),
  );
  // "which species has the highest average mass": the text column is what is ranked.
  const entity = all.find((column) => !measured.includes(column));
  const groups = by.length > 0 ? by : entity === undefined ? [] : [toGroup(entity)];
  return ok(aggregate({ ...reading, by: groups }, measures));
}

function toRanked(reading: Reading, rank: NonNullable<Reading["rank"]>): Result<Query, Problem> {
  const { targets, filters, by, text } = reading;
  const metric = rank.column ?? targets.find(isMeasurable) ?? null;
  const entity = targets.find((column) => column !== metric) ?? null;
  if (metric === null) {
    const group = entity ?? null;
    if (group === null && by.length === 0) return err({ reason: "no_column", op: "ranking" });
    return ok(
      aggregate({ ...reading, by: group === null ? by : [toGroup(group)] }, [{ op: "count" }]),
    );
  }
  if (!isMeasurable(metric) && metric.type !== "date")
    return err({ reason: "not_numeric", column: metric.name, op: "ranking" });
  const extreme: Measure = { op: rank.order === "desc" ? "max" : "min", column: metric.name };
  if (by.length > 0) return ok(aggregate({ ...reading, by, rank: null }, [extreme]));
  const adds =
    /\b(?:most|least|fewest|top|bottom)\b/i.test(text) || usualOperation([metric]) === "sum";
  const sums =
    rank.column === null &&
    adds &&
    entity !== null &&
    entity.distinct < reading.profile.rows &&
    !isLabel(metric);
  if (sums && entity !== null)
    return ok(
      aggregate({ ...reading, by: [toGroup(entity)] }, [{ op: "sum", column: metric.name }]),
    );
  const wantsRow =
    entity !== null ||
    rank.count !== null ||
    rank.column !== null ||
    /\b(?:which|who|top|bottom)\b/i.test(text);
  if (!wantsRow) return ok(aggregate({ ...reading, rank: null }, [extreme]));
  return ok({
    kind: "rows",
    filters,
    sort: { column: metric.name, order: rank.order },
    limit: rank.count ?? (/\btop|bottom\b/i.test(text) ? 5 : 1),
  });
}

function toMostCommon(reading: Reading): Result<Query, Problem> {
  const [column] = reading.targets;
  if (column === undefined) return err({ reason: "no_column", op: "most common" });
  const order = /\bleast\b/i.test(reading.text) ? ("asc" as const) : ("desc" as const);
  const rank = { order, count: reading.rank?.count ?? null, column: null, sortsOnly: false };
  return ok(aggregate({ ...reading, by: [toGroup(column)], rank }, [{ op: "count" }]));
}

function toCount(reading: Reading): Query {
  const { targets, filters, by } = reading;
  const [first] = targets;
  if (first === undefined) return aggregate(reading, [{ op: "count" }]);
  if (first.type === "boolean" && !DISTINCT.test(reading.text)) {
    return aggregate({ ...reading, filters: [...filters, toFlag(first, reading.text)] }, [
      { op: "count" },
    ]);
  }
  const sums = first.type === "number" && !isLabel(first) && !DISTINCT.test(reading.text);
  if (sums) return aggregate(reading, [{ op: "sum", column: first.name }]);
  if (by.length > 0) return aggregate(reading, [{ op: "distinct", column: first.name }]);
  return { kind: "values", column: first.name, filters };
}

function toShare(reading: Reading): Result<Query, Problem> {
  const flag = reading.targets.find((column) => column.type === "boolean");
  // A share within each group is not what a count by group shows, so it is not offered as one.
  if (reading.by.length > 0)
    return flag === undefined && reading.filters.length === 0
      ? ok(aggregate(reading, [{ op: "count" }]))
      : err({ reason: "beyond" });
  if (flag !== undefined)
    return ok({ kind: "share", filters: [...reading.filters, toFlag(flag, reading.text)] });
  const [first] = reading.targets;
  const query: Query =
    first !== undefined && reading.filters.length === 0
      ? aggregate({ ...reading, by: [toGroup(first)] }, [{ op: "count" }])
      : { kind: "share", filters: reading.filters };
  return ok(query);
}

function toFlag(column: Column, text: string): Filter {
  return { op: /\b(?:not|never|no)\b|n't\b/i.test(text) ? "false" : "true", column: column.name };
}

function aggregate({ by, filters, rank, text }: Reading, measures: readonly Measure[]): Query {
  const limit =
    rank === null || rank.sortsOnly || by.length === 0
      ? null
      : (rank.count ?? (/\b(?:which|who|what)\b/i.test(text) ? 1 : 5));
  return {
    kind: "aggregate",
    measures,
    by,
    filters,
    order: by.length === 0 ? null : (rank?.order ?? (measures[0]?.op === "count" ? "desc" : null)),
    limit,
  };
}

function findGroups(scan: Scan): GroupKey[] {
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
function findSort(scan: Scan): Rank | null {
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

function findRank(scan: Scan): Rank | null {
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
function withComparison(
  by: readonly GroupKey[],
  filters: readonly Filter[],
  text: string,
): readonly GroupKey[] {
  if (by.length > 0 || !COMPARE.test(text)) return by;
  const several = filters.find((filter) => filter.op === "in" && filter.values.length > 1);
  return several === undefined ? by : [{ column: several.column, part: "value" }];
}

/**
 * Words without a role. One may name the rows themselves ("how many penguins"); any other might be a condition that was
 * not understood, and then there is no answer.
 */
function leftOver(reading: Reading): { unmatched: readonly string[]; rowNouns: readonly string[] } {
  const { tokens, used, profile } = reading;
  const known = new Set(
    [profile.path.split("/").at(-1) ?? "", ...profile.columns.map((column) => column.name)].flatMap(
      nameWords,
    ),
  );
  const isOpen = (token: Token | undefined, at: number): boolean =>
    token !== undefined &&
    !used.has(at) &&
    (token.quoted ||
      (!STOP_WORDS.has(token.lower) &&
        !OPERATION_WORDS.has(token.lower) &&
        !ADJECTIVES.has(token.lower) &&
        !isCommand(token)));
  const open = [...tokens.entries()].filter(([at, token]) => isOpen(token, at));
  const noun = open.find(
    ([at, token]) =>
      !token.quoted &&
      token.number === null &&
      !isOpen(tokens[at + 1], at + 1) &&
      namesRows(reading, at),
  )?.[1];
  const rest = open.filter(
    ([, token]) => token.stem !== noun?.stem && (token.quoted || !known.has(token.stem)),
  );
  return {
    unmatched: [...new Set(rest.map(([, token]) => token.text))],
    rowNouns: noun === undefined || known.has(noun.stem) ? [] : [noun.text],
  };
}

/** After "how many", a value ("Adelie penguins"), a superlative, or as the owner of what is measured ("mass of penguins"). */
function namesRows({ tokens, used, mentions, targets }: Reading, at: number): boolean {
  const before = tokens
    .slice(Math.max(0, at - 4), at)
    .map((token) => token.lower)
    .join(" ");
  if (
    mentions.some(
      (mention) => mention.kind === "value" && mention.end === at && used.has(mention.start),
    )
  )
    return true;
  if (
    /(?:which|what|list|show|show me|list the|show the|(?:top|bottom|largest|smallest|highest|lowest|biggest|oldest|youngest|heaviest|cheapest|expensive)(?: \d+)?)$/.test(
      before,
    )
  )
    return true;
  if (
    /(?:how many|number of|count of|count|most|least|fewest|(?:percentage|percent|share|proportion|fraction) of|% of)(?: (?:all|the|all the|of the|of all)| \d+)*$/.test(
      before,
    )
  )
    return true;
  return (
    targets.length > 0 &&
    /(?:of|for)(?: (?:all|the|all the|our))?$/.test(before) &&
    tokens[at]?.lower.endsWith("s") === true
  );
}

function isCommand(token: Token): boolean {
  return /^(?:group|grouped|broken|break|write|create|make|save|report|reports|describe|summari[sz]e|summary|overview|explore|analy[sz]e|schema|structure|compare|comparison|versus|vs|percent|percentage|share|proportion|fraction|including|contains?|containing|includes?|ranked?|typical|often|common|popular|highest|largest|did|didn't|wasn't|isn't|markdown|md|brief|short|quick|breakdown|distribution|sample|examples?|expensive|mode)$/.test(
    token.lower,
  );
}

/** What a number is wanted for when no operation is named: a total is added up, anything else averaged. */
function usualOperation([first]: readonly Column[]): Aggregate {
  return first !== undefined &&
    /\b(?:total|sum|amount|revenue|quantity|sale)\b/.test(nameWords(first.name).join(" "))
    ? "sum"
    : "mean";
}

function firstNumber({ tokens, used }: Scan): number | null {
  const at = tokens.findIndex(
    (token, index) => token.number !== null && Number.isInteger(token.number) && !used.has(index),
  );
  if (at < 0) return null;
  used.add(at);
  return tokens[at]?.number ?? null;
}

function toGroup(column: Column): GroupKey {
  return { column: column.name, part: "value" };
}
function isMeasurable(column: Column): boolean {
  return (
    column.type === "number" ||
    (column.type === "boolean" &&
      typeof column.values[0] === "string" &&
      /^[01]$/.test(column.values[0]))
  );
}
function isLabel(column: Column): boolean {
  return LABEL.test(nameWords(column.name).join(" "));
}
function words(
  tokens: readonly Token[],
  { start, end }: { readonly start: number; readonly end: number },
): string {
  return tokens
    .slice(start, end)
    .map((token) => token.text)
    .join(" ");
}
function toAmbiguous(mention: ColumnMention, tokens: readonly Token[]): Problem {
  return {
    reason: "ambiguous",
    word: words(tokens, mention),
    candidates: mention.columns.map((column) => column.name),
  };
}
