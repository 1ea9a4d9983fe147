/**
 * The conditions of a question: `<column> <comparison> <literal>` in words or signs, values that stand alone, and
 * missing cells. Marks each token it has used, so that what is left can be judged.
 */
import { columnOfAdjective, type ColumnMention, type Mention } from "./columns.ts";
import type { Filter } from "./query.ts";
import type { TableProfile } from "./table.ts";
import { ADJECTIVES, OPERATION_WORDS, STOP_WORDS, type Token } from "./words.ts";

export interface Scan {
  readonly tokens: readonly Token[];
  readonly profile: TableProfile;
  readonly mentions: readonly Mention[];
  /** Tokens and mentions that already have a role. */
  readonly used: Set<number>;
}

type Comparison =
  | ">"
  | ">="
  | "<"
  | "<="
  | "="
  | "!="
  | "between"
  | "contains"
  | "starts_with"
  | "missing"
  | "present";

/** Longest first, so that "is not" is not read as "is". */
const PHRASES: readonly (readonly [phrase: string, comparison: Comparison])[] = (
  [
    ["greater than or equal to", ">="],
    ["less than or equal to", "<="],
    ["no less than", ">="],
    ["no more than", "<="],
    ["is greater than", ">"],
    ["is less than", "<"],
    ["is more than", ">"],
    ["greater than", ">"],
    ["bigger than", ">"],
    ["larger than", ">"],
    ["higher than", ">"],
    ["longer than", ">"],
    ["more than", ">"],
    ["less than", "<"],
    ["fewer than", "<"],
    ["smaller than", "<"],
    ["lower than", "<"],
    ["shorter than", "<"],
    ["at least", ">="],
    ["at most", "<="],
    ["up to", "<="],
    ["exceeds", ">"],
    ["exceeding", ">"],
    ["over", ">"],
    ["above", ">"],
    ["under", "<"],
    ["below", "<"],
    ["after", ">"],
    ["before", "<"],
    ["since", ">="],
    ["until", "<="],
    ["is between", "between"],
    ["between", "between"],
    ["is equal to", "="],
    ["equal to", "="],
    ["does not equal", "!="],
    ["not equal to", "!="],
    ["is not", "!="],
    ["isn't", "!="],
    ["are not", "!="],
    ["was not", "!="],
    ["other than", "!="],
    ["equals", "="],
    ["is exactly", "="],
    ["exactly", "="],
    ["is", "="],
    ["are", "="],
    ["was", "="],
    ["not", "!="],
    ["starts with", "starts_with"],
    ["starting with", "starts_with"],
    ["begins with", "starts_with"],
    ["beginning with", "starts_with"],
    ["that contain", "contains"],
    ["contains", "contains"],
    ["contain", "contains"],
    ["containing", "contains"],
    ["includes", "contains"],
    ["including", "contains"],
    ["is missing", "missing"],
    ["is empty", "missing"],
    ["is blank", "missing"],
    ["is null", "missing"],
    ["are missing", "missing"],
    ["is not missing", "present"],
    ["is not empty", "present"],
    ["is known", "present"],
    ["is present", "present"],
    [">=", ">="],
    ["<=", "<="],
    ["!=", "!="],
    ["==", "="],
    ["=", "="],
    [">", ">"],
    ["<", "<"],
  ] as const
).toSorted((a, b) => b[0].split(" ").length - a[0].split(" ").length);

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const NEGATIONS = new Set(["not", "except", "excluding", "non", "without", "besides"]);
/** How far a column may stand from its comparison: "body mass that is over 4000". */
const REACH = 4;

export function findFilters(scan: Scan): Filter[] {
  return [...missingCells(scan), ...comparisons(scan), ...dates(scan), ...standingValues(scan)];
}

function comparisons(scan: Scan): Filter[] {
  const filters: Filter[] = [];
  for (let at = 0; at < scan.tokens.length; at++) {
    const found = comparisonAt(scan, at);
    if (found === null) continue;
    const filter = toFilter(scan, { ...found, at });
    if (filter !== null) filters.push(filter);
  }
  return filters;
}

function comparisonAt(
  { tokens, used }: Scan,
  at: number,
): { comparison: Comparison; end: number } | null {
  for (const [phrase, comparison] of PHRASES) {
    const words = phrase.split(" ");
    const fits = words.every(
      (word, index) => tokens[at + index]?.lower === word && !used.has(at + index),
    );
    if (fits) return { comparison, end: at + words.length };
  }
  // "older than", "more expensive than", "less expensive than"
  const adjective = ADJECTIVES.get(tokens[at]?.lower ?? "");
  if (adjective === undefined || tokens[at + 1]?.lower !== "than" || used.has(at)) return null;
  const isUp = (adjective.order === "desc") !== (tokens[at - 1]?.lower === "less");
  return { comparison: isUp ? ">" : "<", end: at + 2 };
}

interface Found {
  readonly comparison: Comparison;
  readonly at: number;
  readonly end: number;
}

function toFilter(scan: Scan, { comparison, at, end }: Found): Filter | null {
  const left = columnBefore(scan, at);
  if (comparison === "missing" || comparison === "present") {
    if (left === null) return null;
    use(scan, [left.start, left.end], [at, end]);
    return { op: comparison, column: left.column };
  }
  const literal = literalAt(scan, end, comparison);
  if (literal === null) return null;
  const target =
    adjectiveBefore(scan, at) ??
    left ??
    (isWeak(comparison) ? null : columnAfter(scan, literal.end, literal.value));
  if (target === null || !suits(scan.profile, target.column, literal.value)) return null;
  // "average of 5" and "what is Gentoo" are no conditions: a weak word needs its column right before it.
  if (isWeak(comparison) && target.end !== at && !(literal.known && target.end >= at - 1))
    return null;
  const own = literal.hits?.find((hit) => hit.column === target.column);
  if (isWeak(comparison) && literal.hits !== null && own === undefined) return null;
  if (comparison === "between") {
    const high = literalAt(
      scan,
      literal.end + (isAnd(scan.tokens[literal.end]) ? 1 : 0),
      comparison,
    );
    if (high === null) return null;
    use(scan, [target.start, target.end], [at, high.end]);
    return { op: "between", column: target.column, low: literal.value, high: high.value };
  }
  use(scan, [target.start, target.end], [at, literal.end]);
  const text = own?.value ?? String(literal.value);
  if (comparison === "=" || comparison === "!=") {
    const values = [text, ...alternatives(scan, literal.end, target.column)];
    return { op: comparison === "=" ? "in" : "not_in", column: target.column, values };
  }
  if (comparison === "contains" || comparison === "starts_with")
    return { op: comparison, column: target.column, text };
  const isDate = scan.profile.columns.find(({ name }) => name === target.column)?.type === "date";
  return { op: comparison, column: target.column, value: isDate ? text : literal.value };
}

/** A date is not compared with a number, nor the other way round, except for a bare year. */
function suits(profile: TableProfile, column: string, value: number | string): boolean {
  const type = profile.columns.find(({ name }) => name === column)?.type;
  return typeof value === "string"
    ? !(type === "number" && /^\d{4}-/.test(value))
    : type !== "date" || (value >= 1000 && value <= 9999);
}

const isWeak = (comparison: Comparison): boolean => comparison === "=" || comparison === "!=";
const isAnd = (token: Token | undefined): boolean =>
  token?.lower === "and" || token?.lower === "to";

interface Target {
  readonly column: string;
  readonly start: number;
  readonly end: number;
}

function columnBefore({ mentions, used, tokens }: Scan, at: number): Target | null {
  const near = mentions.findLast(
    (mention) => mention.kind === "column" && mention.end <= at && at - mention.end <= REACH,
  );
  if (near === undefined || near.kind !== "column" || near.columns.length !== 1) return null;
  const between = tokens.slice(near.end, at);
  const isClear = between.every(
    (token, index) =>
      STOP_WORDS.has(token.lower) && token.lower !== "and" && !used.has(near.end + index),
  );
  const column = near.columns[0];
  return isClear && column !== undefined
    ? { column: column.name, start: near.start, end: near.end }
    : null;
}

/** "older than 30": the comparison's own first word, or the one before it, is the adjective. */
function adjectiveBefore({ tokens, profile }: Scan, at: number): Target | null {
  for (const index of [at, at - 1]) {
    const word = tokens[index]?.lower ?? "";
    const column = ADJECTIVES.has(word) ? columnOfAdjective(word, profile) : null;
    if (column !== null) return { column: column.name, start: index, end: index + 1 };
  }
  return null;
}

/** "more than 4000 body mass"; else the only column of the literal's kind. */
function columnAfter(
  { mentions, profile, used }: Scan,
  end: number,
  value: number | string,
): Target | null {
  const next = mentions.find(
    (mention): mention is ColumnMention =>
      mention.kind === "column" && mention.start >= end && mention.start - end <= 2,
  );
  const column = next?.columns.length === 1 ? next.columns[0] : undefined;
  if (next !== undefined && column !== undefined && !used.has(next.start))
    return { column: column.name, start: next.start, end: next.end };
  const isDate = typeof value === "string" && /^\d{4}/.test(value);
  const yearOf = typeof value === "number" && value >= 1800 && value <= 2100;
  const dates = profile.columns.filter(({ type }) => type === "date");
  if ((isDate || yearOf) && dates.length === 1 && dates[0] !== undefined)
    return { column: dates[0].name, start: end, end };
  const numeric = profile.columns.filter(({ type }) => type === "number");
  return typeof value === "number" && numeric.length === 1 && numeric[0] !== undefined
    ? { column: numeric[0].name, start: end, end }
    : null;
}

interface Literal {
  readonly value: number | string;
  readonly end: number;
  /** False for a word that occurs nowhere in the table. */
  readonly known: boolean;
  /** Where it occurs as a value, for words. */
  readonly hits: readonly { readonly column: string; readonly value: string }[] | null;
}

function literalAt(scan: Scan, at: number, comparison: Comparison): Literal | null {
  let start = at;
  const article = comparison === "starts_with" || comparison === "contains" ? [] : ["a", "an"];
  while (
    [...article, "the", "either", "than", "to", "in", "from", "usd", "word", "text"].includes(
      scan.tokens[start]?.lower ?? "",
    )
  )
    start++;
  const token = scan.tokens[start];
  if (token === undefined || scan.used.has(start)) return null;
  const mention = scan.mentions.find((candidate) => candidate.start === start);
  if (mention?.kind === "value") {
    const value = mention.hits[0]?.value ?? token.text;
    return { value, end: mention.end, known: true, hits: mention.hits };
  }
  const single = { end: start + 1, known: true, hits: null };
  if (token.quoted || /^\d{4}-\d{2}/.test(token.text)) return { ...single, value: token.text };
  if (token.number !== null) return { ...single, value: token.number };
  const month = MONTHS.indexOf(token.lower);
  const year = scan.tokens[start + 1]?.number;
  if (month >= 0 && typeof year === "number") {
    return {
      value: `${year}-${String(month + 1).padStart(2, "0")}`,
      end: start + 2,
      known: true,
      hits: null,
    };
  }
  const isLetter = comparison === "starts_with" && token.lower.length === 1;
  const isWord =
    isLetter ||
    (!STOP_WORDS.has(token.lower) &&
      !OPERATION_WORDS.has(token.lower) &&
      mention === undefined &&
      !ADJECTIVES.has(token.lower));
  const takesText = isWeak(comparison) || comparison === "contains" || comparison === "starts_with";
  return isWord && takesText ? { ...single, value: token.text, known: false } : null;
}

/** "Biscoe or Dream" after "island is". */
function alternatives(scan: Scan, end: number, column: string): string[] {
  const values: string[] = [];
  let at = end;
  while (["or", "and"].includes(scan.tokens[at]?.lower ?? "")) {
    const mention = scan.mentions.find((candidate) => candidate.start === at + 1);
    const hit =
      mention?.kind === "value"
        ? mention.hits.find((candidate) => candidate.column === column)
        : undefined;
    if (mention === undefined || hit === undefined) break;
    values.push(hit.value);
    use(scan, [at, mention.end]);
    at = mention.end;
  }
  return values;
}

function missingCells(scan: Scan): Filter[] {
  return scan.mentions.flatMap((mention): Filter[] => {
    if (mention.kind !== "column" || mention.columns.length !== 1) return [];
    const before = scan.tokens[mention.start - 1]?.lower ?? "";
    const after = scan.tokens[mention.end]?.lower ?? "";
    if (["missing", "blank", "empty", "unknown"].includes(after)) {
      use(scan, [mention.start, mention.end + 1]);
      return [{ op: "missing", column: mention.columns[0]?.name ?? "" }];
    }
    const afterHas =
      ["no", "without"].includes(before) ||
      (before === "a" && scan.tokens[mention.start - 2]?.lower === "without");
    if (!afterHas && !["missing", "blank", "empty"].includes(before)) return [];
    use(scan, [mention.start - 1, mention.end]);
    return [{ op: "missing", column: mention.columns[0]?.name ?? "" }];
  });
}

/** "in 2023", "in March 2023", "in March": on the only date column, when the number is no value of another column. */
function dates(scan: Scan): Filter[] {
  const column = scan.profile.columns.filter(({ type }) => type === "date");
  const only = column[0];
  if (column.length !== 1 || only === undefined) return [];
  return scan.tokens.flatMap((token, at): Filter[] => {
    if (
      scan.used.has(at) ||
      !["in", "during", "for", "from"].includes(scan.tokens[at - 1]?.lower ?? "")
    )
      return [];
    const month = MONTHS.indexOf(token.lower);
    const year = scan.tokens[month >= 0 ? at + 1 : at]?.number;
    const isYear = typeof year === "number" && year >= 1800 && year <= 2100;
    if (month < 0 && !isYear && !/^\d{4}-\d{2}/.test(token.text)) return [];
    use(scan, [at - 1, at + (month >= 0 && isYear ? 2 : 1)]);
    if (month >= 0 && !isYear) return [{ op: "month", column: only.name, month: month + 1 }];
    const text = month >= 0 ? `${year}-${String(month + 1).padStart(2, "0")}` : token.text;
    return [{ op: "starts_with", column: only.name, text }];
  });
}

/** Values that no comparison has taken: "Adelie penguins on Biscoe". Those of one column are alternatives. */
function standingValues(scan: Scan): Filter[] {
  const filters = new Map<
    string,
    { readonly values: string[]; readonly negated: boolean; readonly column: string }
  >();
  const add = (column: string, value: string, negated: boolean): void => {
    const entry = filters.get(`${negated}:${column}`);
    if (entry === undefined)
      filters.set(`${negated}:${column}`, { values: [value], negated, column });
    else entry.values.push(value);
  };
  for (const mention of scan.mentions) {
    if (mention.kind !== "value" || scan.used.has(mention.start)) continue;
    const near = scan.mentions.find(
      (other) =>
        other.kind === "column" && (other.end === mention.start || other.start === mention.end),
    );
    const named =
      near?.kind === "column"
        ? mention.hits.find((hit) => near.columns.some((column) => column.name === hit.column))
        : undefined;
    const columns = new Set(mention.hits.map((hit) => hit.column));
    const hit = named ?? (columns.size === 1 ? mention.hits[0] : undefined);
    if (hit === undefined) continue;
    use(
      scan,
      [mention.start, mention.end],
      ...(named === undefined || near === undefined ? [] : [[near.start, near.end] as const]),
    );
    const before = [scan.tokens[mention.start - 1], scan.tokens[mention.start - 2]].map(
      (token) => token?.lower ?? "",
    );
    add(
      hit.column,
      hit.value,
      NEGATIONS.has(before[0] ?? "") ||
        (before[0] !== undefined &&
          ["for", "the", "in", "from"].includes(before[0]) &&
          NEGATIONS.has(before[1] ?? "")),
    );
  }
  for (const [at, token] of scan.tokens.entries()) {
    const hits =
      token.number === null || scan.used.has(at)
        ? []
        : scan.profile.hits.filter((hit) => hit.term === token.lower);
    const isPlace = ["in", "from", "of", "year", "class"].includes(
      scan.tokens[at - 1]?.lower ?? "",
    );
    if (!isPlace || new Set(hits.map((hit) => hit.column)).size !== 1 || hits[0] === undefined)
      continue;
    use(scan, [at, at + 1]);
    add(hits[0].column, hits[0].value, false);
  }
  return [...filters.values()].map(({ column, values, negated }) => ({
    op: negated ? ("not_in" as const) : ("in" as const),
    column,
    values,
  }));
}

export function use(
  { used }: Scan,
  ...spans: readonly (readonly [start: number, end: number])[]
): void {
  for (const [start, end] of spans) for (let at = start; at < end; at++) used.add(at);
}
