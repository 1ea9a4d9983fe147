/** A question as far as it is read: its tokens, what they mention, which have a role, and what is left to decide on. */
import type { Mention } from "./columns.ts";
import type { Aggregate, Filter, GroupKey } from "./query.ts";
import type { Column, TableProfile } from "./table.ts";
import { nameWords, type Token } from "./words.ts";

export interface Scan {
  readonly tokens: readonly Token[];
  readonly profile: TableProfile;
  readonly mentions: readonly Mention[];
  /** Tokens and mentions that already have a role. */
  readonly used: Set<number>;
}

export interface Reading extends Scan {
  readonly text: string;
  readonly filters: Filter[];
  readonly by: readonly GroupKey[];
  readonly operations: readonly Aggregate[];
  readonly rank: Rank | null;
  /** Columns with no other role, in the order of the question. */
  readonly targets: readonly Column[];
}

export interface Rank {
  readonly order: "desc" | "asc";
  readonly count: number | null;
  readonly column: Column | null;
  /** An order alone ("highest first"): nothing is left out. */
  readonly sortsOnly: boolean;
}

/** Numbers that name something: adding them up means nothing. */
const LABEL =
  /\b(?:id|year|code|zip|postcode|phone|month|day|class|number|no|index|rank|latitude|longitude|lat|lon)\b/;

export function use(
  { used }: Scan,
  ...spans: readonly (readonly [start: number, end: number])[]
): void {
  for (const [start, end] of spans) for (let at = start; at < end; at++) used.add(at);
}

export function toFlag(column: Column, text: string): Filter {
  return { op: /\b(?:not|never|no)\b|n't\b/i.test(text) ? "false" : "true", column: column.name };
}

/** What a number is wanted for when no operation is named: a total is added up, anything else averaged. */
export function usualOperation([first]: readonly Column[]): Aggregate {
  return first !== undefined &&
    /\b(?:total|sum|amount|revenue|quantity|sale)\b/.test(nameWords(first.name).join(" "))
    ? "sum"
    : "mean";
}

export function toGroup(column: Column): GroupKey {
  return { column: column.name, part: "value" };
}
export function isMeasurable(column: Column): boolean {
  return (
    column.type === "number" ||
    (column.type === "boolean" &&
      typeof column.values[0] === "string" &&
      /^[01]$/.test(column.values[0]))
  );
}
export function isLabel(column: Column): boolean {
  return LABEL.test(nameWords(column.name).join(" "));
}
