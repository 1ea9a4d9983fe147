/**
 * Queries to JavaScript for the `run_code` tool. The code is meant to be read by the newcomer who watches it run: it
 * parses the file once, holds one pass over the rows, and returns a small JSON value.
 */
import type { Aggregate, Filter, GroupKey, Query } from "./query.ts";

/** Rows or groups that an answer shows at most. */
export const MAX_SHOWN = 20;

const HELPERS = `const ABSENT = new Set(["", "na", "n/a", "nan", "null", "none", "-"]);
const lower = (v) => (typeof v === "string" ? v.trim().toLowerCase() : String(v));
const missing = (v) => v === null || v === undefined || (typeof v === "string" && ABSENT.has(lower(v)));
const num = (v) => {
  if (typeof v === "number") return v;
  if (typeof v !== "string" || !/\\d/.test(v)) return null;
  const plain = Number(v.replace(/[$€£%,\\s]/g, ""));
  return Number.isNaN(plain) ? null : plain;
};`;

const LOAD_PROFILE = `const text = readFile(path);
const firstLine = text.slice(0, (text.indexOf("\\n") + 1 || text.length + 1) - 1);
const delimiter = [",", ";", "\\t", "|"].map((d) => [d, firstLine.split(d).length]).sort((a, b) => b[1] - a[1])[0][0];
const rows = parseCsv(text, { header: true, numbers: true, delimiter });`;

const PROFILE_BODY = `const isDate = (v) => /^\\d{4}-\\d{2}(-\\d{2})?([ T].*)?$/.test(v);
const wanted = new Set(terms);
const plain = (key) => key.replace(/[^\\p{L}\\p{N}.]+/gu, " ").replace(/\\.$/, "").trim();
const hits = [];
const columns = Object.keys(rows[0] ?? {}).map((name) => {
  const counts = new Map();
  let absent = 0, numbers = 0, dates = 0, sum = 0, min = null, max = null;
  for (const row of rows) {
    const v = row[name];
    const key = typeof v === "number" ? v : lower(v ?? "");
    const known = counts.get(key);
    if (known !== undefined) { known[1] += 1; continue; }
    if (!missing(v)) counts.set(key, [v, 1]); else absent += 1;
  }
  for (const [key, [v, times]] of counts) {
    const n = num(v);
    if (n !== null) { numbers += times; sum += n * times; } else if (isDate(key)) dates += times;
    const bound = n ?? String(v).slice(0, 40);
    if (min === null || bound < min) min = bound;
    if (max === null || bound > max) max = bound;
    const text = String(key);
    const term = wanted.has(text) ? text : typeof key === "string" && /[^a-z0-9 ]/.test(key) ? plain(key) : "";
    if (wanted.has(term)) hits.push({ term, column: name, value: String(v) });
  }
  const present = rows.length - absent;
  const flags = counts.size <= 2 && [...counts.keys()].every((v) => ["0", "1", "yes", "no", "true", "false", "y", "n"].includes(String(v)));
  const type = present === 0 ? "empty" : flags ? "boolean" : numbers === present ? "number" : dates === present ? "date" : "text";
  const ranged = type === "number" || type === "date";
  return {
    name, type, missing: absent, distinct: counts.size,
    values: counts.size <= 30 ? [...counts.values()].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([v]) => String(v).slice(0, 40)) : [],
    min: ranged ? min : null, max: ranged ? max : null, mean: type === "number" ? sum / present : null,
  };
});
return { kind: "table", path, delimiter, rows: rows.length, columns: columns.slice(0, 60), hits: hits.slice(0, 40) };`;

/** First look at a table; `terms` are the question's words, to find which columns hold them as values. */
export function tableProfileCode(path: string, terms: readonly string[]): string {
  return `// A first look at ${toComment(path)}: columns, types, and where the question's words occur as values.
const path = ${JSON.stringify(path)};
const terms = ${JSON.stringify(terms)};
${HELPERS}
${LOAD_PROFILE}
${PROFILE_BODY}`;
}

export function textProfileCode(path: string): string {
  return `// A first look at ${toComment(path)}.
const path = ${JSON.stringify(path)};
const text = readFile(path);
const lines = text.split(/\\r\\n|\\n|\\r/);
if (lines.at(-1) === "") lines.pop();
return {
  kind: "text", path, lines: lines.length, characters: text.length,
  words: text.split(/\\s+/).filter((word) => word !== "").length,
  head: lines.filter((line) => line.trim() !== "").slice(0, 5).map((line) => line.slice(0, 160)),
};`;
}

/** Lines that hold `needle`, counted, with the first of them. */
export function lineSearchCode(path: string, needle: string): string {
  return `// Lines of ${toComment(path)} that hold the words searched for.
const needle = ${JSON.stringify(needle.toLowerCase())};
const lines = readFile(${JSON.stringify(path)}).split(/\\r\\n|\\n|\\r/);
const found = lines.map((line, index) => ({ line: index + 1, text: line })).filter(({ text }) => text.toLowerCase().includes(needle));
return { total: found.length, matches: found.slice(0, 10).map(({ line, text }) => ({ line, text: text.slice(0, 200) })) };`;
}

export function queryCode(
  path: string,
  delimiter: string,
  query: Exclude<Query, { kind: "describe" }>,
): string {
  const head = `const rows = parseCsv(readFile(${JSON.stringify(path)}), { header: true, numbers: true, delimiter: ${JSON.stringify(delimiter)} });
${HELPERS}
const wanted = rows.filter((row) => ${query.filters.map(toCondition).join(" && ") || "true"});`;
  return `${head}\n${toBody(query)}`;
}

function toBody(query: Exclude<Query, { kind: "describe" }>): string {
  switch (query.kind) {
    case "share":
      return "return { rows: rows.length, matched: wanted.length };";
    case "values":
      return `const counts = new Map();
for (const row of wanted) {
  const v = ${cell(query.column)};
  if (!missing(v)) counts.set(v, (counts.get(v) ?? 0) + 1);
}
const values = [...counts].sort((a, b) => b[1] - a[1] || (String(a[0]) < String(b[0]) ? -1 : 1));
return { rows: rows.length, matched: wanted.length, distinct: values.length, values: values.slice(0, ${MAX_SHOWN}).map(([value, n]) => ({ value, n })) };`;
    case "rows":
      return `${toSort(query.sort)}
return { rows: rows.length, matched: wanted.length, first: wanted.slice(0, ${Math.min(query.limit, MAX_SHOWN)}) };`;
    case "aggregate":
      return toAggregateBody(query);
  }
}

function toSort(sort: { readonly column: string; readonly order: "desc" | "asc" } | null): string {
  if (sort === null) return "";
  const value = `num(row[${JSON.stringify(sort.column)}])`;
  const sign = sort.order === "desc" ? "b - a" : "a - b";
  return `const sortKey = (row) => ${value} ?? ${sort.order === "desc" ? "-Infinity" : "Infinity"};
wanted.sort((x, y) => { const a = sortKey(x), b = sortKey(y); return a === b ? 0 : ${sign}; });`;
}

function toAggregateBody(query: Extract<Query, { kind: "aggregate" }>): string {
  const measures = query.measures.map((measure) =>
    measure.op === "count"
      ? "{ value: members.length, used: members.length }"
      : `${measure.op}(members.map((row) => ${cell(measure.column)}))`,
  );
  const used = new Set(
    query.measures.flatMap((measure) => (measure.op === "count" ? [] : [measure.op])),
  );
  const order = toGroupOrder(query.order);
  return `${[...used].map((op) => AGGREGATES[op]).join("\n")}
const groups = new Map();
for (const row of wanted) {
  const key = [${query.by.map(toKey).join(", ")}];
  const id = JSON.stringify(key);
  if (!groups.has(id)) groups.set(id, { key, members: [] });
  groups.get(id).members.push(row);
}
${query.by.length === 0 ? 'if (groups.size === 0) groups.set("", { key: [], members: [] });' : ""}
const table = [...groups.values()].map(({ key, members }) => ({ key, n: members.length, measures: [${measures.join(", ")}] }));
table.sort((a, b) => ${order});
return { rows: rows.length, matched: wanted.length, groups: table.length, table: table.slice(0, ${query.limit ?? MAX_SHOWN}) };`;
}

const PICK =
  "const present = values.filter((v) => !missing(v)); const numbers = present.map(num).filter((n) => n !== null);";
/** `used` is how many values entered the number, so that missing ones are said. */
const AGGREGATES: Readonly<Record<Aggregate, string>> = {
  mean: `const mean = (values) => { ${PICK} return { value: numbers.length === 0 ? null : numbers.reduce((a, b) => a + b, 0) / numbers.length, used: numbers.length }; };`,
  sum: `const sum = (values) => { ${PICK} return { value: numbers.reduce((a, b) => a + b, 0), used: numbers.length }; };`,
  min: `const min = (values) => { ${PICK} const all = numbers.length === present.length ? numbers : present.map(String); return { value: all.length === 0 ? null : all.reduce((a, b) => (b < a ? b : a)), used: all.length }; };`,
  max: `const max = (values) => { ${PICK} const all = numbers.length === present.length ? numbers : present.map(String); return { value: all.length === 0 ? null : all.reduce((a, b) => (b > a ? b : a)), used: all.length }; };`,
  median: `const median = (values) => { ${PICK} numbers.sort((a, b) => a - b); const half = numbers.length >> 1; return { value: numbers.length === 0 ? null : numbers.length % 2 === 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2, used: numbers.length }; };`,
  distinct: `const distinct = (values) => { const present = values.filter((v) => !missing(v)); return { value: new Set(present.map(lower)).size, used: present.length }; };`,
};

function toGroupOrder(order: "desc" | "asc" | null): string {
  const byKey = "(String(a.key) < String(b.key) ? -1 : 1)";
  if (order === null) return byKey;
  const value = (side: string) =>
    `(${side}.measures[0].value ?? ${order === "desc" ? "-Infinity" : "Infinity"})`;
  const [first, second] = order === "desc" ? ["b", "a"] : ["a", "b"];
  return `${value("a")} === ${value("b")} ? ${byKey} : ${value(first)} - ${value(second)}`;
}

function toKey(key: GroupKey): string {
  if (key.part !== "value")
    return `String(${cell(key.column)}).slice(0, ${key.part === "year" ? 4 : 7})`;
  return `missing(${cell(key.column)}) ? "(missing)" : ${cell(key.column)}`;
}

function toCondition(filter: Filter): string {
  const value = cell(filter.column);
  switch (filter.op) {
    case "in":
      return `${JSON.stringify(filter.values.map((item) => item.toLowerCase()))}.includes(lower(${value}))`;
    case "not_in":
      return `!missing(${value}) && !${JSON.stringify(filter.values.map((item) => item.toLowerCase()))}.includes(lower(${value}))`;
    case "between":
      return `${toComparison(value, ">=", filter.low)} && ${toComparison(value, "<=", filter.high)}`;
    case "contains":
      return `!missing(${value}) && lower(${value}).includes(${JSON.stringify(filter.text.toLowerCase())})`;
    case "starts_with":
      return `!missing(${value}) && lower(${value}).startsWith(${JSON.stringify(filter.text.toLowerCase())})`;
    case "month":
      return `Number(String(${value}).slice(5, 7)) === ${filter.month}`;
    case "missing":
      return `missing(${value})`;
    case "present":
      return `!missing(${value})`;
    case "true":
      return `["1", "yes", "true", "y"].includes(lower(${value}))`;
    case "false":
      return `["0", "no", "false", "n"].includes(lower(${value}))`;
    default:
      return toComparison(value, filter.op, filter.value);
  }
}

/** Dates compare as text, cut to the length that was asked with, so that "after 2023" means after the whole year. */
function toComparison(value: string, op: string, bound: number | string): string {
  if (typeof bound === "number") return `num(${value}) !== null && num(${value}) ${op} ${bound}`;
  return `!missing(${value}) && String(${value}).slice(0, ${bound.length}) ${op} ${JSON.stringify(bound)}`;
}

function cell(column: string): string {
  return `row[${JSON.stringify(column)}]`;
}
function toComment(path: string): string {
  return path.replace(/[\r\n\u2028\u2029]/g, " ");
}
