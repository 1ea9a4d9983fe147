/** The queries that `embedded/scripted` can turn into code. Column names are those of the file, already resolved. */
export type Filter =
  | { readonly op: "in" | "not_in"; readonly column: string; readonly values: readonly string[] }
  | {
      readonly op: ">" | ">=" | "<" | "<=";
      readonly column: string;
      readonly value: number | string;
    }
  | {
      readonly op: "between";
      readonly column: string;
      readonly low: number | string;
      readonly high: number | string;
    }
  | { readonly op: "contains" | "starts_with"; readonly column: string; readonly text: string }
  | { readonly op: "month"; readonly column: string; readonly month: number }
  | { readonly op: "missing" | "present" | "true" | "false"; readonly column: string };

export type Aggregate = "mean" | "sum" | "min" | "max" | "median" | "distinct";

export type Measure =
  | { readonly op: "count" }
  | { readonly op: Aggregate; readonly column: string };

export interface GroupKey {
  readonly column: string;
  /** Part of an ISO date, or the whole value. */
  readonly part: "value" | "year" | "month";
}

export type Query =
  | { readonly kind: "describe" }
  | {
      readonly kind: "aggregate";
      readonly measures: readonly Measure[];
      readonly by: readonly GroupKey[];
      readonly filters: readonly Filter[];
      /** By the first measure; null orders groups by their key. */
      readonly order: "desc" | "asc" | null;
      readonly limit: number | null;
    }
  | {
      readonly kind: "rows";
      readonly filters: readonly Filter[];
      readonly sort: { readonly column: string; readonly order: "desc" | "asc" } | null;
      readonly limit: number;
    }
  | { readonly kind: "values"; readonly column: string; readonly filters: readonly Filter[] }
  | { readonly kind: "share"; readonly filters: readonly Filter[] };

/** Why a question has no query. `ambiguous` names the candidates; `unmatched` the words that fit nothing in the file. */
export type Problem =
  | { readonly reason: "ambiguous"; readonly word: string; readonly candidates: readonly string[] }
  | { readonly reason: "unmatched"; readonly words: readonly string[] }
  | { readonly reason: "not_numeric"; readonly column: string; readonly op: string }
  | { readonly reason: "no_column"; readonly op: string }
  | { readonly reason: "beyond" };

/** A reading in words, shown with each answer so that a wrong reading is seen. */
export function toReading(query: Query): string {
  switch (query.kind) {
    case "describe":
      return "columns, types and ranges";
    case "share":
      return `share of rows${where(query.filters)}`;
    case "values":
      return `distinct values of ${query.column}${where(query.filters)}`;
    case "rows": {
      const sort =
        query.sort === null
          ? ""
          : `, ${query.sort.order === "desc" ? "highest" : "lowest"} ${query.sort.column} first`;
      return `rows${where(query.filters)}${sort}`;
    }
    case "aggregate": {
      const by = query.by.length === 0 ? "" : ` for each ${query.by.map(toKeyLabel).join(" and ")}`;
      const order =
        query.order === null ? "" : `, ${query.order === "desc" ? "highest" : "lowest"} first`;
      return `${query.measures.map(toMeasureLabel).join(", ")}${by}${where(query.filters)}${order}`;
    }
  }
}

export function toMeasureLabel(measure: Measure): string {
  if (measure.op === "count") return "number of rows";
  return measure.op === "distinct"
    ? `distinct values of ${measure.column}`
    : `${measure.op} of ${measure.column}`;
}

export function toKeyLabel(key: GroupKey): string {
  return key.part === "value" ? key.column : `${key.part} of ${key.column}`;
}

function where(filters: readonly Filter[]): string {
  return filters.length === 0 ? "" : `, where ${filters.map(toFilterLabel).join(" and ")}`;
}

function toFilterLabel(filter: Filter): string {
  switch (filter.op) {
    case "in":
      return `${filter.column} is ${filter.values.join(" or ")}`;
    case "not_in":
      return `${filter.column} is not ${filter.values.join(" or ")}`;
    case "between":
      return `${filter.column} is between ${filter.low} and ${filter.high}`;
    case "contains":
      return `${filter.column} contains "${filter.text}"`;
    case "starts_with":
      return `${filter.column} begins with ${filter.text}`;
    case "month":
      return `the month of ${filter.column} is ${filter.month}`;
    case "missing":
    case "present":
    case "true":
    case "false":
      return `${filter.column} is ${filter.op}`;
    default:
      return `${filter.column} ${filter.op} ${filter.value}`;
  }
}
