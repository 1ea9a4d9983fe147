/**
 * coerceArguments: arguments that a model encoded twice -> the values it meant, by the tool's schema (T11).
 *
 * A string is decoded only where the schema wants something else and cannot take a string, and only when its text is
 * the one canonical spelling of a value of a wanted kind. It is decoded once: a decoded value is walked, never decoded
 * itself. Everything else is left for the schema to refuse. Pure, and total over any schema and any JSON.
 */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { nestsDeeper } from "./json-scan.ts";

type Kind = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";
const KINDS: readonly string[] = [
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "array",
  "object",
];
/** Nesting of values and of references; deeper is left as it is. */
const MAX_DEPTH = 64;

export function coerceArguments(schema: JsonObject, args: Json): Json {
  // Arguments are an object whatever their schema says, so the whole of them needs no schema to be decoded by.
  const whole = typeof args === "string" ? (decode(args, new Set(["object"])) ?? args) : args;
  return new Coercion(schema).value(schema, whole, 0);
}

class Coercion {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  value(schema: Json, value: Json, depth: number): Json {
    if (depth > MAX_DEPTH || !isJsonObject(schema)) return value;
    const branches = this.#branches(schema, 0);
    if (typeof value !== "string") return this.#inside(branches, value, depth);
    const wanted = new Set(branches.flatMap(kindsOf));
    if (wanted.size === 0 || wanted.has("string") || branches.some(isOpen)) return value;
    const decoded = decode(value, wanted);
    return decoded === undefined ? value : this.#inside(branches, decoded, depth);
  }

  /** Members of a container, by the one branch that takes it; where several could, the schema decides, not a guess. */
  #inside(branches: readonly JsonObject[], value: Json, depth: number): Json {
    if (typeof value !== "object" || value === null) return value;
    const kind = Array.isArray(value) ? "array" : "object";
    const fitting = branches.filter((branch) => isOpen(branch) || kindsOf(branch).includes(kind));
    const [branch] = fitting;
    if (branch === undefined || fitting.length > 1) return value;
    return isJsonObject(value)
      ? this.#members(branch, value, depth)
      : this.#items(branch, value, depth);
  }

  #members(branch: JsonObject, value: JsonObject, depth: number): Json {
    const properties = isJsonObject(branch["properties"]) ? branch["properties"] : {};
    const rest = branch["additionalProperties"] ?? null;
    let changed = false;
    const entries = Object.entries(value).map(([key, member]): [string, Json] => {
      const schema = Object.hasOwn(properties, key) ? (properties[key] ?? null) : rest;
      const next = this.value(schema, member, depth + 1);
      changed ||= next !== member;
      return [key, next];
    });
    return changed ? Object.fromEntries(entries) : value;
  }

  #items(branch: JsonObject, value: Json, depth: number): Json {
    if (!Array.isArray(value)) return value;
    const prefix: readonly Json[] = Array.isArray(branch["prefixItems"])
      ? branch["prefixItems"]
      : [];
    const rest = branch["items"] ?? null;
    const next = value.map((item: Json, index) =>
      this.value(prefix[index] ?? rest, item, depth + 1),
    );
    return next.every((item, index) => item === value[index]) ? value : next;
  }

  /** What a value may fit: references followed, alternatives laid out, `allOf` merged into each. */
  #branches(schema: JsonObject, hops: number): readonly JsonObject[] {
    if (hops > MAX_DEPTH) return [{}];
    const ref = schema["$ref"];
    if (typeof ref === "string") return this.#branches(this.#resolve(ref), hops + 1);
    for (const keyword of ["anyOf", "oneOf"]) {
      const options = schema[keyword];
      if (!Array.isArray(options)) continue;
      return options.flatMap((option: Json) =>
        isJsonObject(option) ? this.#branches(option, hops + 1) : [{}],
      );
    }
    const all = schema["allOf"];
    const parts: readonly Json[] = Array.isArray(all) ? all : [];
    // Two parts that both constrain cannot be read one by one; one part is what generators make of a reference.
    const [only] = parts;
    if (parts.length === 1 && isJsonObject(only) && kindsOf(schema).length === 0)
      return this.#branches(only, hops + 1);
    return [schema];
  }

  #resolve(ref: string): JsonObject {
    if (!ref.startsWith("#")) return {};
    let target: Json = this.#root;
    for (const segment of ref.split("/").slice(1)) {
      const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!isJsonObject(target) || !Object.hasOwn(target, key)) return {};
      target = target[key] ?? null;
    }
    return isJsonObject(target) ? target : {};
  }
}

/** Says nothing of the kind it wants, so a string may be just right. */
function isOpen(branch: JsonObject): boolean {
  return kindsOf(branch).length === 0;
}

function kindsOf(branch: JsonObject): readonly Kind[] {
  const { type } = branch;
  const named: readonly Json[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const nullable: readonly Kind[] = branch["nullable"] === true ? ["null"] : [];
  if (named.length > 0) return [...named.filter(isKind), ...nullable];
  const values = Array.isArray(branch["enum"])
    ? branch["enum"]
    : branch["const"] === undefined
      ? []
      : [branch["const"]];
  return values.map((value: Json) => kindOf(value));
}

function isKind(value: Json): value is Kind {
  return typeof value === "string" && KINDS.includes(value);
}

function kindOf(value: Json): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return "number";
  return typeof value === "string" || typeof value === "boolean"
    ? (typeof value as Kind)
    : "object";
}

/** The value that `text` spells, when it is of a wanted kind; undefined otherwise. */
function decode(text: string, wanted: ReadonlySet<Kind>): Json | undefined {
  if (nestsDeeper(text, MAX_DEPTH)) return undefined;
  const value = parse(text);
  if (value === undefined || typeof value === "string") return undefined;
  const kind = kindOf(value);
  // " 1", "1.0" and "1e3" may be meant as text: of a scalar only the canonical spelling counts.
  if (kind === "array" || kind === "object") return wanted.has(kind) ? value : undefined;
  if (String(value) !== text) return undefined;
  if (typeof value !== "number") return wanted.has(kind) ? value : undefined;
  if (!Number.isFinite(value)) return undefined;
  const isWhole = Number.isSafeInteger(value);
  return wanted.has("number") || (wanted.has("integer") && isWhole) ? value : undefined;
}

function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
