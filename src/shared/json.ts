/**
 * JSON values and their one canonical form.
 *
 * Owns RFC 8785 serialisation, replacement of lone surrogates, and UTF-8 conversion.
 * Objects are built by definition of own properties, so a key named `__proto__` stays data.
 */
export type JsonPrimitive = string | number | boolean | null;
export type Json = JsonPrimitive | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function utf8(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Throws `TypeError` on bytes that are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * RFC 8785 (JSON Canonicalization Scheme): keys sorted by UTF-16 code unit, ECMAScript numbers, minimal escapes.
 * Throws `TypeError` on what JSON cannot hold (`undefined`, functions, NaN, infinities), because dropping it
 * silently would let two different values share one digest.
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") {
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new TypeError("JSON cannot hold a number that is not finite");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return canonicalArray(value);
  if (!isJsonObject(value)) throw new TypeError(`JSON cannot hold a value of type ${typeof value}`);
  let text = "{";
  for (const key of Object.keys(value).sort(compareCodeUnits)) {
    text += `${text === "{" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`;
  }
  return `${text}}`;
}

function canonicalArray(items: readonly Json[]): string {
  let text = "[";
  for (const item of items) text += `${text === "[" ? "" : ","}${canonicalJson(item)}`;
  return `${text}]`;
}

function compareCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Replaces each lone surrogate, in keys and values, by U+FFFD. Returns the same value when there is none. */
export function toWellFormedJson<T extends Json>(value: T): T {
  return wellFormed(value) as T;
}

function wellFormed(value: Json): Json {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) {
    const next = value.map((item: Json) => wellFormed(item));
    return next.every((item, index) => item === value[index]) ? value : next;
  }
  if (!isJsonObject(value)) return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const nextKey = key.toWellFormed();
    const nextItem = wellFormed(item);
    changed ||= nextKey !== key || nextItem !== item;
    return [nextKey, nextItem];
  });
  return changed ? Object.fromEntries(entries) : value;
}

/** Deepest nesting of brackets outside strings; exact for valid JSON, and good enough to bound the invalid. */
export function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text[index];
    if (inString) {
      if (unit === "\\") index += 1;
      else if (unit === '"') inString = false;
    } else if (unit === '"') inString = true;
    else if (unit === "{" || unit === "[") deepest = Math.max(deepest, (depth += 1));
    else if (unit === "}" || unit === "]") depth -= 1;
  }
  return deepest;
}
