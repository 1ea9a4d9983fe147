/**
 * The conditions of a question: `<column> <comparison> <literal>` in words or signs, values that stand alone, and
 * missing cells. Marks each token it has used, so that what is left can be judged.
 */
import { comparisons, MONTHS } from "./comparisons.ts";
import type { Filter } from "./query.ts";
import { type Scan, use } from "./reading.ts";
import { STOP_WORDS } from "./words.ts";

const NEGATIONS = new Set(["not", "except", "excluding", "non", "without", "besides"]);

export function findFilters(scan: Scan): Filter[] {
  return [...missingCells(scan), ...comparisons(scan), ...dates(scan), ...standingValues(scan)];
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
        other.kind === "column" &&
        (other.start === mention.end || leadsTo(scan, other.end, mention.start)),
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
    add(hit.column, hit.value, isNegated(scan, mention.start));
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

/** Nothing but function words lies between, as in "embarked at S". */
function leadsTo({ tokens }: Scan, end: number, start: number): boolean {
  const between = tokens.slice(end, start);
  return (
    end <= start &&
    between.length <= 2 &&
    between.every((token) => STOP_WORDS.has(token.lower) && token.lower !== "and")
  );
}

function isNegated({ tokens }: Scan, start: number): boolean {
  const last = tokens[start - 1]?.lower ?? "";
  const reaches =
    ["for", "the", "in", "from"].includes(last) && NEGATIONS.has(tokens[start - 2]?.lower ?? "");
  return NEGATIONS.has(last) || reaches;
}
