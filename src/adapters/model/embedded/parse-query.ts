/**
 * A question and the profile of its table to a query, or to the reason why there is none.
 *
 * Reads in a fixed order: conditions, groups, order and number, operation, what it is about. Words that are left over
 * in a place where they would change the answer make it a problem, because a number for another question is worse than
 * no number.
 */
import { err, ok, type Result } from "#shared/result.ts";
import { type ColumnMention, findMentions } from "./columns.ts";
import { decideQuery, DISTINCT } from "./decide-query.ts";
import { findFilters } from "./filters.ts";
import { findGroups, findRank, findSort, withComparison } from "./groups.ts";
import { leftOver } from "./left-over.ts";
import type { Aggregate, Problem, Query } from "./query.ts";
import { type Reading, type Scan, toFlag, use } from "./reading.ts";
import type { Column, TableProfile } from "./table.ts";
import { type Token, tokenise } from "./words.ts";

export interface Parsed {
  readonly query: Query;
  /** Words that were taken to name the rows, as "penguins" in "how many penguins". */
  readonly rowNouns: readonly string[];
}

const OPERATIONS: readonly (readonly [RegExp, Aggregate])[] = [
  [/\b(?:average|averages|mean|avg|typical)\b/i, "mean"],
  [/\bmedian\b/i, "median"],
  [/\b(?:sum|total(?! number))\b/i, "sum"],
  [/\b(?:minimum|min)\b/i, "min"],
  [/\b(?:maximum|max)\b/i, "max"],
];

export function parseQuery(text: string, profile: TableProfile): Result<Parsed, Problem> {
  const tokens = tokenise(text);
  const reading = read(
    { tokens, profile, mentions: findMentions(tokens, profile), used: new Set() },
    text,
  );
  if (!reading.ok) return reading;
  const query = decideQuery(reading.value);
  const left = leftOver(reading.value);
  const blames = query.ok || query.error.reason === "no_column";
  if (!query.ok && !(blames && left.unmatched.length > 0)) return query;
  const unused = query.ok ? unusedTarget(query.value, reading.value.targets) : null;
  if (unused !== null) return err({ reason: "unmatched", words: [unused] });
  if (!query.ok || left.unmatched.length > 0)
    return err({ reason: "unmatched", words: left.unmatched });
  return ok({ query: query.value, rowNouns: left.rowNouns });
}

function read(scan: Scan, text: string): Result<Reading, Problem> {
  const by = findGroups(scan);
  const sort = findSort(scan);
  const filters = findFilters(scan);
  const rank = findRank(scan) ?? sort;
  const open = scan.mentions.filter(
    (mention): mention is ColumnMention =>
      mention.kind === "column" && !scan.used.has(mention.start),
  );
  const problem = findAmbiguity(scan, open);
  if (problem !== null) return err(problem);
  for (const mention of open) use(scan, [mention.start, mention.end]);
  const named = [...new Set(open.flatMap((mention) => mention.columns))];
  // "remote employees" beside another column is a condition; alone, it is what is asked about.
  const flags = named.filter(
    (column) => column.type === "boolean" && named.length > 1 && !DISTINCT.test(text),
  );
  filters.push(...flags.map((column) => toFlag(column, text)));
  const targets = named.filter((column) => !flags.includes(column));
  return ok({
    ...scan,
    text,
    filters,
    by: withComparison(by, filters, text),
    operations: findOperations(scan),
    rank,
    targets,
  });
}

/** Operations that are named outside of column names: "Total" may be a column. */
function findOperations({ tokens, mentions }: Scan): readonly Aggregate[] {
  const isName = (at: number): boolean =>
    mentions.some(
      (mention) => mention.kind === "column" && at >= mention.start && at < mention.end,
    );
  const spoken = tokens
    .filter((_, at) => !isName(at))
    .map((token) => token.lower)
    .join(" ");
  return OPERATIONS.filter(([pattern]) => pattern.test(spoken)).map(([, operation]) => operation);
}

function findAmbiguity(
  { tokens, mentions, used }: Scan,
  open: readonly ColumnMention[],
): Problem | null {
  const unclear = open.find((mention) => mention.columns.length > 1);
  if (unclear !== undefined)
    return {
      reason: "ambiguous",
      word: words(tokens, unclear),
      candidates: unclear.columns.map((column) => column.name),
    };
  const mixed = mentions.find((mention) => mention.kind === "value" && !used.has(mention.start));
  if (mixed?.kind !== "value") return null;
  return {
    reason: "ambiguous",
    word: words(tokens, mixed),
    candidates: [...new Set(mixed.hits.map((hit) => hit.column))],
  };
}

/** A row shows all its columns; any other query must have a place for each column that was named. */
function unusedTarget(query: Query, targets: readonly Column[]): string | null {
  if (query.kind === "rows") return null;
  const text = JSON.stringify(query);
  return targets.find((column) => !text.includes(JSON.stringify(column.name)))?.name ?? null;
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
