/**
 * Which columns and values a question speaks of. Names match loosely (case, separators, plural, a part that only one
 * column has); a part that several columns share is kept as ambiguous, never guessed.
 */
import type { Column, TableProfile } from "./table.ts";
import { ADJECTIVES, nameWords, OPERATION_WORDS, PREPOSITIONS, STOP_WORDS, stem, type Token } from "./words.ts";

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
      terms.add([...window.slice(0, -1).map((token) => token.lower), window.at(-1)?.stem ?? ""].join(" "));
    }
  }
  return [...terms].slice(0, 200);
}

export function findMentions(tokens: readonly Token[], profile: TableProfile): readonly Mention[] {
  const taken = new Array<boolean>(tokens.length).fill(false);
  const mentions: Mention[] = [];
  for (let length = MAX_PHRASE; length >= 1; length--) {
    for (const find of [exactColumn, knownValue, partialColumn]) {
      for (let start = 0; start + length <= tokens.length; start++) {
        if (taken.slice(start, start + length).includes(true)) continue;
        const mention = find(tokens.slice(start, start + length), profile, start);
        if (mention === null) continue;
        taken.fill(true, start, start + length);
        mentions.push(mention);
      }
    }
  }
  return mentions.toSorted((a, b) => a.start - b.start);
}

/** The column that an adjective such as "heaviest" measures, when exactly one has such a name. */
export function columnOfAdjective(word: string, profile: TableProfile): Column | null {
  const nouns = ADJECTIVES.get(word)?.nouns ?? [];
  const fitting = profile.columns.filter((column) => nameWords(column.name).some((part) => nouns.includes(part)));
  const [only, ...rest] = fitting;
  return only !== undefined && rest.length === 0 ? only : null;
}

type Find = (window: readonly Token[], profile: TableProfile, start: number) => Mention | null;

const exactColumn: Find = (window, profile, start) => {
  const phrase = window.flatMap((token) => nameWords(token.text)).join(" ");
  const columns = profile.columns.filter((column) => nameWords(column.name).join(" ") === phrase);
  const only = window[0];
  // "the number of rows" must not become a column that happens to be called number, unless it is quoted.
  if (columns.length === 0 || only === undefined) return null;
  if (window.length === 1 && !only.quoted && isFunctionWord(only) && !columns.some((column) => column.name === only.text)) return null;
  return { kind: "column", start, end: start + window.length, columns };
};

const knownValue: Find = (window, profile, start) => {
  const first = window[0];
  if (first === undefined || (window.length === 1 && isFunctionWord(first))) return null;
  if (window.length === 1 && first.number !== null) return null;
  const exact = window.map((token) => token.lower).join(" ");
  const singular = [...window.slice(0, -1).map((token) => token.lower), window.at(-1)?.stem ?? ""].join(" ");
  const direct = profile.hits.filter((hit) => hit.term === exact);
  const hits = direct.length > 0 ? direct : profile.hits.filter((hit) => hit.term === singular);
  return hits.length === 0 ? null : { kind: "value", start, end: start + window.length, hits };
};

const partialColumn: Find = (window, profile, start) => {
  const words = window.flatMap((token) => nameWords(token.text));
  const first = window[0];
  if (first === undefined || words.length === 0 || window.some((token) => token.number !== null)) return null;
  if (window.some((token) => isFunctionWord(token) && (window.length === 1 || PREPOSITIONS.has(token.lower)))) return null;
  if (words.every((word) => word.length < 2)) return null;
  const columns = profile.columns.filter((column) => {
    const names = nameWords(column.name);
    return words.every((word) => names.includes(word));
  });
  return columns.length === 0 ? null : { kind: "column", start, end: start + window.length, columns };
};

function isFunctionWord(token: Token): boolean {
  return !token.quoted && (STOP_WORDS.has(token.lower) || OPERATION_WORDS.has(token.lower) || OPERATION_WORDS.has(stem(token.lower)));
}
