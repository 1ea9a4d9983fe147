/** `<column> <comparison> <literal>` in words or signs: "mass over 4000", "island is Dream or Biscoe", "older than 40". */
import { columnOfAdjective, type ColumnMention } from "./columns.ts";
import type { Filter } from "./query.ts";
import { type Scan, use } from "./reading.ts";
import type { TableProfile } from "./table.ts";
import { ADJECTIVES, OPERATION_WORDS, STOP_WORDS, type Token } from "./words.ts";

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

export const MONTHS = [
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
/** How far a column may stand from its comparison: "body mass that is over 4000". */
const REACH = 4;

export function comparisons(scan: Scan): Filter[] {
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
