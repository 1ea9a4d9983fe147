/** JSON Schema of an answer to the fields of a form, and what was typed to the answer. Pure. */
export interface Field {
  /** Empty where the answer is this one value. */
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly required: boolean;
  readonly type: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly choices: readonly string[];
}
export interface Shape {
  readonly isObject: boolean;
  readonly fields: readonly Field[];
}
export type Draft = { readonly [name: string]: string };
export type Read =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly problem: string };

type Schema = { readonly [key: string]: unknown };

export function toShape(schema: unknown): Shape {
  if (!isSchema(schema)) return { isObject: false, fields: [toField("", {}, true)] };
  const properties = schema["properties"];
  if (schema["type"] !== "object" || !isSchema(properties)) {
    return { isObject: false, fields: [toField("", schema, true)] };
  }
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const fields = Object.entries(properties).map(([name, member]) =>
    toField(name, isSchema(member) ? member : {}, required.includes(name)),
  );
  return { isObject: true, fields };
}

function toField(name: string, schema: Schema, required: boolean): Field {
  const { title, description } = schema;
  const choices = Array.isArray(schema["enum"]) ? schema["enum"] : null;
  return {
    name,
    label: typeof title === "string" ? title : toLabel(name),
    hint: typeof description === "string" ? description : null,
    required,
    type: toType(schema),
    choices: choices?.filter((choice) => typeof choice === "string") ?? [],
  };
}

function toLabel(name: string): string {
  if (name === "") return "Answer";
  const words = name.replaceAll(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function toType(schema: Schema): Field["type"] {
  const values = schema["enum"];
  if (Array.isArray(values))
    return values.every((value) => typeof value === "string") ? "choice" : "json";
  switch (schema["type"]) {
    case undefined:
      return Object.keys(schema).length === 0 ? "text" : "json";
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return schema["type"];
    default:
      return "json";
  }
}

export function readAnswer({ isObject, fields }: Shape, draft: Draft): Read {
  const answer: Record<string, unknown> = {};
  for (const field of fields) {
    const text = draft[field.name] ?? "";
    if (text.trim() === "" && field.type !== "boolean") {
      if (field.required) return { ok: false, problem: `“${field.label}” is needed.` };
      continue;
    }
    const read = readField(field, text);
    if (!read.ok) return read;
    answer[field.name] = read.answer;
  }
  return { ok: true, answer: isObject ? answer : answer[""] };
}

function readField({ type, label }: Field, text: string): Read {
  switch (type) {
    case "text":
    case "choice":
      return { ok: true, answer: text };
    case "boolean":
      return { ok: true, answer: text === "true" };
    case "number":
    case "integer": {
      const value = Number(text);
      const fits = Number.isFinite(value) && (type === "number" || Number.isInteger(value));
      const wanted = type === "integer" ? "a whole number" : "a number";
      return fits
        ? { ok: true, answer: value }
        : { ok: false, problem: `“${label}” must be ${wanted}.` };
    }
    default:
      return readJson(label, text);
  }
}

function readJson(label: string, text: string): Read {
  try {
    const answer: unknown = JSON.parse(text);
    return { ok: true, answer };
  } catch {
    return { ok: false, problem: `“${label}” must be JSON, such as ["a", "b"].` };
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
