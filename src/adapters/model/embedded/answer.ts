/** Results of code to the text of an answer: numbers quoted as computed, small tables, and how the question was read. */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import {
  type Measure,
  type Problem,
  type Query,
  toKeyLabel,
  toMeasureLabel,
  toReading,
} from "./query.ts";
import { objects, type Profile, type TableProfile } from "./table.ts";
import { nameWords } from "./words.ts";

export interface Answer {
  readonly text: string;
  /** The number that answers it, for structured answers. */
  readonly headline: number | null;
}
type Aggregated = Extract<Query, { kind: "aggregate" }>;

const MAX_COLUMNS = 8;

export function renderQuery(query: Query, value: Json, profile: TableProfile): Answer {
  if (query.kind === "describe") return renderProfile(profile);
  if (!isJsonObject(value))
    return {
      text: "The code returned something other than a result, so there is no answer to give.",
      headline: null,
    };
  switch (query.kind) {
    case "share":
      return renderShare(value, query);
    case "values":
      return renderValues(value, query);
    case "rows":
      return renderRows(value, query);
    case "aggregate":
      return query.by.length === 0 ? renderTotals(value, query) : renderGroups(value, query);
  }
}

function renderTotals(value: JsonObject, query: Aggregated): Answer {
  const group = objects(value["table"])[0] ?? {};
  const cells = objects(group["measures"]);
  const lines = query.measures.map((measure, index) => {
    const cell = cells[index] ?? {};
    const used = Number(cell["used"] ?? 0);
    const absent = Number(group["n"] ?? 0) - used;
    const over =
      measure.op === "count"
        ? `of ${show(value["rows"])} rows`
        : `over ${show(used)} values${absent > 0 ? `; ${show(absent)} missing` : ""}`;
    return `**${show(cell["value"])}**: ${toMeasureLabel(measure)} (${over})`;
  });
  const headline = cells[0]?.["value"];
  return {
    text: `${lines.join("\n")}\n\nRead as: ${toReading(query)}.`,
    headline: typeof headline === "number" ? headline : null,
  };
}

function renderGroups(value: JsonObject, query: Aggregated): Answer {
  const groups = objects(value["table"]);
  const total = Number(value["groups"] ?? 0);
  const header = [
    ...query.by.map(toKeyLabel),
    ...query.measures.map(toMeasureLabel),
    ...(countsRows(query.measures) ? ["share"] : ["rows"]),
  ];
  const rows = groups.map((group) => {
    const keys = Array.isArray(group["key"]) ? group["key"].map((part: Json) => plain(part)) : [];
    const share = `${show((100 * Number(group["n"] ?? 0)) / Math.max(1, Number(value["matched"] ?? 1)))}%`;
    return [
      ...keys,
      ...objects(group["measures"]).map((cell) => show(cell["value"])),
      countsRows(query.measures) ? share : show(group["n"]),
    ];
  });
  const first = groups[0];
  const firstMeasure =
    first === undefined ? null : (objects(first["measures"])[0]?.["value"] ?? null);
  const lead = first === undefined ? "No rows fit." : toLead(query, rows[0] ?? []);
  const more =
    total > groups.length && query.limit === null
      ? `\n\n… and ${show(total - groups.length)} more groups.`
      : "";
  const table = first === undefined ? "" : `\n\n${toTable(header, rows)}${more}`;
  return {
    text: `${lead}${table}\n\nRead as: ${toReading(query)}.`,
    headline: typeof firstMeasure === "number" ? firstMeasure : null,
  };
}

function toLead(query: Aggregated, first: readonly string[]): string {
  const measure = query.measures[0];
  if (measure === undefined) return "";
  const key = first.slice(0, query.by.length).join(", ");
  if (query.order === null)
    return `${capitalise(toMeasureLabel(measure))} for each ${query.by.map(toKeyLabel).join(" and ")}:`;
  return `**${key}** has the ${query.order === "desc" ? "highest" : "lowest"} ${toMeasureLabel(measure)}: **${first[query.by.length] ?? ""}**.`;
}

function renderShare(value: JsonObject, query: Query): Answer {
  const matched = Number(value["matched"] ?? 0);
  const rows = Number(value["rows"] ?? 0);
  const percent = rows === 0 ? 0 : (100 * matched) / rows;
  return {
    text: `**${show(percent)}%** (${show(matched)} of ${show(rows)} rows)\n\nRead as: ${toReading(query)}.`,
    headline: percent,
  };
}

function renderValues(value: JsonObject, query: Extract<Query, { kind: "values" }>): Answer {
  const values = objects(value["values"]);
  const distinct = Number(value["distinct"] ?? 0);
  const table = toTable(
    [query.column, "rows"],
    values.map((item) => [plain(item["value"]), show(item["n"])]),
  );
  const more = distinct > values.length ? `\n\n… and ${show(distinct - values.length)} more.` : "";
  return {
    text: `**${show(distinct)}** distinct values of ${query.column}:\n\n${table}${more}\n\nRead as: ${toReading(query)}.`,
    headline: distinct,
  };
}

function renderRows(value: JsonObject, query: Extract<Query, { kind: "rows" }>): Answer {
  const rows = objects(value["first"]);
  const matched = Number(value["matched"] ?? 0);
  if (rows.length === 0)
    return { text: `No rows fit.\n\nRead as: ${toReading(query)}.`, headline: 0 };
  const names = Object.keys(rows[0] ?? {});
  // The column it is sorted by is what was asked about, so it is never among those left out.
  const sorted = query.sort === null ? [] : [query.sort.column];
  const columns = [...new Set([...names.slice(0, MAX_COLUMNS - sorted.length), ...sorted])];
  const table = toTable(
    columns,
    rows.map((row) => columns.map((column) => plain(row[column]))),
  );
  const left =
    names.length > columns.length ? ` (${names.length - columns.length} columns left out)` : "";
  const top = query.sort === null ? null : rows[0]?.[query.sort.column];
  return {
    text: `${show(rows.length)} of ${show(matched)} rows${left}:\n\n${table}\n\nRead as: ${toReading(query)}.`,
    headline: typeof top === "number" ? top : matched,
  };
}

export function renderProfile(profile: Profile): Answer {
  if (profile.kind === "text") {
    const head = profile.head.map((line) => `> ${line}`).join("\n");
    const counts = `${show(profile.lines)} lines, ${show(profile.words)} words, ${show(profile.characters)} characters`;
    return {
      text: `\`${profile.path}\` has ${counts}. It begins:\n\n${head}`,
      headline: profile.lines,
    };
  }
  const rows = profile.columns.map((column) => [
    column.name,
    column.type,
    show(column.missing),
    show(column.distinct),
    column.type === "number" || column.type === "date"
      ? `${show(column.min)} to ${show(column.max)}${column.mean === null ? "" : `, mean ${show(column.mean)}`}`
      : column.values.slice(0, 4).join(", "),
  ]);
  const table = toTable(["column", "type", "missing", "distinct", "range or values"], rows);
  return {
    text: `\`${profile.path}\` has **${show(profile.rows)}** rows and **${profile.columns.length}** columns:\n\n${table}`,
    headline: profile.rows,
  };
}

export function renderProblem(problem: Problem, profile: TableProfile): string {
  const columns = profile.columns.map((column) => `\`${column.name}\``).join(", ");
  switch (problem.reason) {
    case "ambiguous":
      return `"${problem.word}" could mean ${problem.candidates.map((name) => `\`${name}\``).join(" or ")}. Please name one of them.`;
    case "unmatched":
      return `I found no column or value for ${problem.words.map((word) => `"${word}"`).join(", ")} in \`${profile.path}\`, so I give no number. Its columns are ${columns}.`;
    case "not_numeric":
      return `\`${problem.column}\` does not hold numbers, so it has no ${problem.op}. The columns are ${columns}.`;
    case "no_column":
      return `I could not tell which column you mean (for the ${problem.op}). The columns are ${columns}.`;
    case "beyond":
      return `That question is beyond my rules. \`${profile.path}\` has the columns ${columns}.`;
  }
}

/** Three questions that work, made of this file's own columns. */
export function toExamples(profile: TableProfile): readonly string[] {
  const numeric = profile.columns.find(
    (column) =>
      column.type === "number" &&
      column.distinct > 2 &&
      !/\b(?:id|year|code|no)\b/.test(nameWords(column.name).join(" ")),
  );
  const text = profile.columns.find((column) => column.type === "text" && column.values.length > 1);
  const value = text?.values[0];
  return [
    numeric !== undefined && text !== undefined
      ? `average ${numeric.name} by ${text.name}`
      : "how many rows are there?",
    text !== undefined && value !== undefined
      ? `how many rows have ${text.name} ${value}?`
      : "describe the file",
    numeric === undefined ? "write a report" : `top 5 rows by ${numeric.name}`,
  ];
}

export function toTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Numbers as people read them: thousands separated, at most two decimals, small ones by significance. */
export function show(value: Json | undefined): string {
  if (typeof value !== "number") return plain(value);
  const digits =
    Math.abs(value) >= 1 || value === 0
      ? { maximumFractionDigits: 2 }
      : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en-US", digits);
}

function plain(value: Json | undefined): string {
  if (value === null || value === undefined) return "none";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (text.length > 40 ? `${text.slice(0, 39).toWellFormed()}…` : text).replace(/\s+/g, " ");
}
function countsRows(measures: readonly Measure[]): boolean {
  return measures.every((measure) => measure.op === "count");
}
function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
