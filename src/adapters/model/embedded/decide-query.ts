/** From what a question mentions to the query it asks for, or the reason why it asks for none. */
import { err, ok, type Result } from "#shared/result.ts";
import type { Aggregate, Measure, Problem, Query } from "./query.ts";
import {
  isLabel,
  isMeasurable,
  type Rank,
  type Reading,
  type Scan,
  toFlag,
  toGroup,
  usualOperation,
} from "./reading.ts";
import { OPERATION_WORDS } from "./words.ts";

const DESCRIBE =
  /\b(?:describe|summari[sz]e|summary|overview|explore|schema|structure|what(?:'s| is| are)? in\b|(?:what|which|list|show|name)(?: me)?(?: are)?(?: all)?(?: the)? (?:columns|fields)|tell me about|report|analy[sz]e|look at|have a look|what does .* contain|about this|columns)\b/i;
const SHARE = /\b(?:percent(?:age)?|share|fraction|proportion)\b|%/i;
const COUNT = /\b(?:how many|number of|count|how often|total number|amount of)\b/i;
export const DISTINCT = /\b(?:distinct|unique|different)\b/i;
const LISTING = /\b(?:what|which|list|show|name)\b/i;
const ROWS =
  /\b(?:show|list|display|give|print|find|get|rows?|records?|entries|examples?|sample)\b/i;
const COMMON = /\b(?:most|least) (?:common|frequent|popular|often)|\bmode\b/i;

export function decideQuery(reading: Reading): Result<Query, Problem> {
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

function toRanked(reading: Reading, rank: Rank): Result<Query, Problem> {
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

function firstNumber({ tokens, used }: Scan): number | null {
  const at = tokens.findIndex(
    (token, index) => token.number !== null && Number.isInteger(token.number) && !used.has(index),
  );
  if (at < 0) return null;
  used.add(at);
  return tokens[at]?.number ?? null;
}
