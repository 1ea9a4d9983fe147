/** What `embedded/scripted` knows of a file after its first look: the JSON that its profiling code returns. */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

export type ColumnType = "number" | "text" | "date" | "boolean" | "empty";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly missing: number;
  readonly distinct: number;
  /** The most frequent values of a column with few of them, else empty. */
  readonly values: readonly string[];
  readonly min: string | number | null;
  readonly max: string | number | null;
  readonly mean: number | null;
}
/** A word of the question that is a value of a column. */
export interface Hit {
  readonly term: string;
  readonly column: string;
  readonly value: string;
}
export interface TableProfile {
  readonly kind: "table";
  readonly path: string;
  readonly delimiter: string;
  readonly rows: number;
  readonly columns: readonly Column[];
  readonly hits: readonly Hit[];
}
export interface TextProfile {
  readonly kind: "text";
  readonly path: string;
  readonly lines: number;
  readonly words: number;
  readonly characters: number;
  readonly head: readonly string[];
}
export type Profile = TableProfile | TextProfile;

/** Null when the value is no profile, as when a tool's result was cut. */
export function readProfile(value: Json): Profile | null {
  if (!isJsonObject(value)) return null;
  const path = text(value, "path");
  if (value["kind"] === "text") {
    const count = (key: string) => Number(value[key] ?? 0);
    return {
      kind: "text",
      path,
      lines: count("lines"),
      words: count("words"),
      characters: count("characters"),
      head: texts(value["head"]),
    };
  }
  if (value["kind"] !== "table") return null;
  return {
    kind: "table",
    path,
    delimiter: text(value, "delimiter"),
    rows: Number(value["rows"] ?? 0),
    columns: objects(value["columns"]).map(readColumn),
    hits: objects(value["hits"]).map((hit) => ({
      term: text(hit, "term"),
      column: text(hit, "column"),
      value: text(hit, "value"),
    })),
  };
}

function readColumn(column: JsonObject): Column {
  const type = text(column, "type");
  return {
    name: text(column, "name"),
    type:
      type === "number" || type === "date" || type === "boolean" || type === "empty"
        ? type
        : "text",
    missing: Number(column["missing"] ?? 0),
    distinct: Number(column["distinct"] ?? 0),
    values: texts(column["values"]),
    min: bound(column["min"]),
    max: bound(column["max"]),
    mean: typeof column["mean"] === "number" ? column["mean"] : null,
  };
}

export function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item: Json) => isJsonObject(item)) : [];
}
export function texts(value: Json | undefined): readonly string[] {
  return Array.isArray(value)
    ? value.map((item: Json) => (typeof item === "string" ? item : JSON.stringify(item)))
    : [];
}
function text(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}
function bound(value: Json | undefined): string | number | null {
  return typeof value === "string" || typeof value === "number" ? value : null;
}
