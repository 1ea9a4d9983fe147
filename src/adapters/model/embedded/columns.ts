/**
 * Which columns and values a question speaks of. Names match loosely (case, separators, plural, a part that only one
 * column has); a part that several columns share is kept as ambiguous, never guessed.
 */
import type { Column, TableProfile } from "./table.ts";
import {
  ADJECTIVES,
  nameWords,
  OPERATION_WORDS,
  PREPOSITIONS,
  STOP_WORDS,
  stem,
  SYNONYMS,
  VALUE_SYNONYMS,
  type Token,
} from "./words.ts";

export interface ColumnMention {
  readonly kind: "column";
  readonly start: number;
  readonly end: number;
  /** More than one: the words fit all of these. */
  readonly columns: readonly Column[];
}
export interface ValueMention {
  readonly kind: "value";
  readonly start: number;
  readonly end: number;
  readonly hits: readonly { readonly column: string; readonly value: string }[];
}
export type Mention = ColumnMention | ValueMention;

const MAX_PHRASE = 4;

/** The phrases of a question that may be values of a column, for the profiling code to look up. */
export function toTerms(tokens: readonly Token[]): readonly string[] {
  const terms = new Set<string>();
  for (let start = 0; start < tokens.length; start++) {
    for (let length = 1; length <= MAX_PHRASE && start + length <= tokens.length; length++) {
      const window = tokens.slice(start, start + length);
      const only = window[0];
      if (length === 1 && only !== undefined && isFunctionWord(only)) continue;
      terms.add(window.map((token) => token.lower).join(" "));
      for (const singular of singulars(window)) terms.add(singular);
    }
  }
  return [...terms].slice(0, 300);
}

export function findMentions(tokens: readonly Token[], profile: TableProfile): readonly Mention[] {
  const taken = new Array<boolean>(tokens.length).fill(false);
  const mentions: Mention[] = [];
  for (const { find, start, end } of candidates(taken)) {
    const mention = find(tokens.slice(start, end), { profile, start, next: tokens[end] });
    if (mention === null) continue;
    taken.fill(true, start, end);
    mentions.push(mention);
  }
  return mentions.toSorted((a, b) => a.start - b.start);
}

/** Windows of untaken tokens, longest first, and for each length the surest way to read it first. */
function* candidates(
  taken: readonly boolean[],
): Generator<{ find: Find; start: number; end: number }> {
  const lengths = Array.from({ length: MAX_PHRASE }, (_, index) => MAX_PHRASE - index);
  const ways = lengths.flatMap((length) =>
    [exactColumn, knownValue, partialColumn, synonymColumn].map((find) => ({ length, find })),
  );
  for (const { length, find } of ways) {
    for (let start = 0; start + length <= taken.length; start++) {
      if (!taken.slice(start, start + length).includes(true))
        yield { find, start, end: start + length };
    }
  }
}

/** The column that an adjective such as "heaviest" measures, when exactly one has such a name. */
export function columnOfAdjective(word: string, profile: TableProfile): Column | null {
  const nouns = ADJECTIVES.get(word)?.nouns ?? [];
  const fitting = profile.columns.filter((column) =>
    nameWords(column.name).some((part) => nouns.includes(part)),
  );
  const [only, ...rest] = fitting;
  return only !== undefined && rest.length === 0 ? only : null;
}

/** `next` is the token after the window. */
type Find = (
  window: readonly Token[],
  at: { profile: TableProfile; start: number; next: Token | undefined },
) => Mention | null;

const exactColumn: Find = (window, { profile, start, next }) => {
  const phrase = window.flatMap((token) => nameWords(token.text)).join(" ");
  const columns = profile.columns.filter((column) => nameWords(column.name).join(" ") === phrase);
  const only = window[0];
  if (
    columns.length === 0 ||
    only === undefined ||
    window.some((token) => nameWords(token.text).length === 0)
  )
    return null;
  // "the total price" and "number of rows" speak of an operation even where a column is called Total or Number.
  const isOperation =
    next !== undefined && (!isFunctionWord(next) || next.lower === "of" || next.lower === "number");
  if (
    window.length === 1 &&
    !only.quoted &&
    isFunctionWord(only) &&
    (isOperation || only.lower !== columns[0]?.name.toLowerCase())
  )
    return null;
  return { kind: "column", start, end: start + window.length, columns };
};

const knownValue: Find = (window, { profile, start }) => {
  const first = window[0];
  if (first === undefined || (window.length === 1 && isFunctionWord(first))) return null;
  if (window.length === 1 && first.number !== null) return null;
  const exact = window.map((token) => token.lower).join(" ");
  const plain = singulars(window);
  const direct = profile.hits.filter((hit) => hit.term === exact);
  const hits = direct.length > 0 ? direct : profile.hits.filter((hit) => plain.includes(hit.term));
  return hits.length === 0 ? null : { kind: "value", start, end: start + window.length, hits };
};

const partialColumn: Find = (window, { profile, start }) => {
  const words = window.flatMap((token) => nameWords(token.text));
  const first = window[0];
  if (first === undefined || words.length === 0 || window.some((token) => token.number !== null))
    return null;
  if (
    window.some(
      (token) => isFunctionWord(token) && (window.length === 1 || PREPOSITIONS.has(token.lower)),
    )
  )
    return null;
  if (
    words.every((word) => word.length < 2) ||
    window.some((token) => nameWords(token.text).length === 0)
  )
    return null;
  const columns = profile.columns.filter((column) => {
    const names = nameWords(column.name);
    // "orders" names the rows of a table that numbers them in Order ID, not that column.
    if (
      column.distinct === profile.rows &&
      /^(?:id|no|nr|key|uuid|number)$/.test(names.at(-1) ?? "")
    )
      return false;
    // A plural means the name's last word: "prices" is in Unit Price, "units" and "orders" are not in Unit Price and Order ID.
    const isPlural = words.at(-1) !== window.at(-1)?.lower.split("_").at(-1);
    const head = names.findLast((word) => word.length > 2) ?? "";
    return words.every((word) => names.includes(word)) && (!isPlural || words.at(-1) === head);
  });
  return columns.length === 0
    ? null
    : { kind: "column", start, end: start + window.length, columns };
};

const synonymColumn: Find = ([only, ...rest], { profile, start }) => {
  const nouns = only === undefined || rest.length > 0 ? undefined : SYNONYMS.get(only.stem);
  if (nouns === undefined) return null;
  const columns = profile.columns.filter(
    (column) =>
      column.type !== "text" && nameWords(column.name).some((word) => nouns.includes(word)),
  );
  const named =
    columns.length > 0
      ? columns
      : profile.columns.filter((column) => nouns.includes(nameWords(column.name).join(" ")));
  // "units" is a quantity before it is a unit price: the column whose whole name it is wins.
  const whole = named.filter((column) => nouns.includes(nameWords(column.name).join(" ")));
  const chosen = whole.length > 0 ? whole : named;
  return chosen.length === 1 ? { kind: "column", start, end: start + 1, columns: chosen } : null;
};

function singulars(window: readonly Token[]): readonly string[] {
  const lead = window.slice(0, -1).map((token) => token.lower);
  const last = window.at(-1);
  const plain = [last?.stem ?? "", (last?.lower ?? "").replace(/s$/, "")].map((word) =>
    [...lead, word].join(" "),
  );
  const other = lead.length === 0 ? VALUE_SYNONYMS.get(last?.lower ?? "") : undefined;
  return other === undefined ? plain : [...plain, other];
}

function isFunctionWord(token: Token): boolean {
  return (
    !token.quoted &&
    (STOP_WORDS.has(token.lower) ||
      OPERATION_WORDS.has(token.lower) ||
      OPERATION_WORDS.has(stem(token.lower)))
  );
}
