/**
 * Prelude: the globals of sandboxed code, as source text that every rung evaluates, so that code behaves the same on
 * each of them. It is a function of the rung's primitives; nothing of the host is reachable from the globals it sets.
 *
 * Primitives: `readText(path, encoding)` and `readBytes(path)` throw when there is no such file; `write(path, content)`
 * takes a string or Uint8Array; `remove(path)` answers a boolean; `list(prefix)` answers paths; `print(text)`.
 *
 * The function answers `encode`, which turns the code's return value into JSON text or throws. It holds the intrinsics
 * it needs, because sandboxed code may replace them.
 */
export const MAX_VALUE_CHARS = 1024 * 1024;

export const OUTPUT_INVALID = "exec_output_invalid: ";

export const PRELUDE_SOURCE = String.raw`(primitives) => {
  "use strict";
  const { readText, readBytes, write, remove, list, print } = primitives;
  const { stringify } = JSON;
  const { fromEntries, defineProperty } = Object;
  const GlobalMap = Map, GlobalSet = Set, GlobalError = Error, GlobalString = String;

  const describe = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "function") return "[function " + (value.name || "anonymous") + "]";
    if (value instanceof GlobalError) return value.name + ": " + value.message;
    if (value instanceof GlobalMap || value instanceof GlobalSet) return value.constructor.name + " " + describe([...value]);
    if (typeof value !== "object" || value === null) return GlobalString(value);
    try {
      return stringify(value, (_, inner) => (typeof inner === "bigint" ? GlobalString(inner) : inner)) ?? GlobalString(value);
    } catch {
      return "[object that is not JSON]";
    }
  };
  const log = (...values) => print(values.map(describe).join(" ") + "\n");

  const NUMBER = /^ *[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? *$/;
  const toCell = (text) => (NUMBER.test(text) ? Number(text) : text);

  /** RFC 4180 rows. Works by native search and split, because an interpreted character loop is ten times slower. */
  const csvRows = (text, delimiter) => {
    if (!text.includes('"')) return text.split(/\r\n|\n|\r/).map((line) => line.split(delimiter));
    const rows = [];
    let row = [];
    let at = 0;
    const plain = new RegExp("[" + (delimiter === "\t" ? "\\t" : "\\" + delimiter) + "\\r\\n]", "g");
    for (;;) {
      let end;
      if (text[at] === '"') {
        const start = at;
        let close = at;
        let escaped = false;
        for (;;) {
          close = text.indexOf('"', close + 1);
          if (close < 0) throw new SyntaxError("CSV: the quote opened in row " + (rows.length + 1) + " at character " + start + " is never closed");
          if (text[close + 1] !== '"') break;
          escaped = true;
          close++;
        }
        const inner = text.slice(start + 1, close);
        const value = escaped ? inner.replaceAll('""', '"') : inner;
        plain.lastIndex = close + 1;
        end = plain.exec(text)?.index ?? text.length;
        row.push(value + text.slice(close + 1, end));
      } else {
        plain.lastIndex = at;
        end = plain.exec(text)?.index ?? text.length;
        row.push(text.slice(at, end));
      }
      if (end < text.length && text[end] === delimiter) {
        at = end + 1;
        continue;
      }
      rows.push(row);
      if (end >= text.length) return rows;
      row = [];
      at = text[end] === "\r" && text[end + 1] === "\n" ? end + 2 : end + 1;
    }
  };

  const columnNames = (cells) => {
    const seen = new GlobalSet();
    return cells.map((cell, index) => {
      const base = cell.trim() || "column_" + (index + 1);
      let name = base;
      for (let n = 2; seen.has(name); n++) name = base + "_" + n;
      seen.add(name);
      return name;
    });
  };

  const parseCsv = (text, options = {}) => {
    if (typeof text !== "string") throw new TypeError("parseCsv takes the text of a file: parseCsv(readFile(path))");
    const { header = true, numbers = false, delimiter = "," } = options;
    if (typeof delimiter !== "string" || !/^[^"\r\n\w]$/.test(delimiter)) throw new TypeError("delimiter must be one character such as , ; | or a tab");
    const rows = csvRows(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, delimiter).filter((row) => row.length > 1 || row[0] !== "");
    const convert = numbers ? toCell : (cell) => cell;
    if (!header) return numbers ? rows.map((row) => row.map(convert)) : rows;
    if (rows.length === 0) return [];
    const width = rows.reduce((widest, row) => (row.length > widest ? row.length : widest), 0);
    const names = columnNames([...rows[0], ...Array(width - rows[0].length).fill("")]);
    const known = rows[0].length;
    const safe = !names.includes("__proto__");
    const records = [];
    for (let r = 1; r < rows.length; r++) {
      const cells = rows[r];
      const count = cells.length > known ? cells.length : known;
      if (!safe) {
        records.push(fromEntries(names.slice(0, count).map((name, i) => [name, convert(cells[i] ?? "")])));
        continue;
      }
      const record = {};
      for (let i = 0; i < count; i++) record[names[i]] = i < cells.length ? convert(cells[i]) : "";
      records.push(record);
    }
    return records;
  };

  const writeFile = (path, content) => {
    const bytes = content instanceof Uint8Array;
    if (typeof content !== "string" && !bytes) throw new TypeError("writeFile takes a string or a Uint8Array; use JSON.stringify for objects");
    write(GlobalString(path), content);
  };
  const globals = {
    readFile: (path, encoding = "utf-8") => readText(GlobalString(path), GlobalString(encoding)),
    readBytes: (path) => readBytes(GlobalString(path)),
    writeFile,
    deleteFile: (path) => remove(GlobalString(path)),
    listFiles: (prefix = "") => list(GlobalString(prefix)),
    parseCsv,
    console: { log, info: log, debug: log, warn: log, error: log },
  };
  for (const name of Object.keys(globals)) {
    defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true, enumerable: false });
  }

  const refuse = (what) => {
    throw new TypeError("${OUTPUT_INVALID}" + what);
  };
  const checked = (key, value) => {
    const where = key === "" ? "the returned value" : "the returned value's " + stringify(key);
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") return refuse(where + " is a " + typeof value + ", not JSON");
    if (typeof value === "number" && value - value !== 0) return refuse(where + " is " + value + ", which JSON cannot hold");
    if (value instanceof GlobalMap || value instanceof GlobalSet) return refuse(where + " is a Map or Set: return an array or a plain object");
    return value;
  };
  return (value) => {
    if (value === undefined) return "null";
    let text;
    try {
      text = stringify(value, checked);
    } catch (error) {
      if (error instanceof TypeError && /circular/i.test(error.message)) return refuse("the returned value holds itself");
      throw error;
    }
    if (text === undefined) return refuse("the returned value is not JSON");
    if (text.length > ${MAX_VALUE_CHARS}) return refuse("the returned value is longer than ${MAX_VALUE_CHARS} characters: write it to a file and return a summary");
    return text;
  };
}`;
