/**
 * What runs inside the isolate: the prelude over a map of files, then the code, then a report as data.
 *
 * Every host global that is not ECMAScript is taken away before the code runs. The network is closed by the loader's
 * `globalOutbound: null`, not by this: taking names away only keeps the two rungs alike.
 */
import { PRELUDE_SOURCE } from "#sandbox/prelude.ts";

const KEPT_GLOBALS = [
  "Object",
  "Function",
  "Array",
  "Number",
  "parseFloat",
  "parseInt",
  "Infinity",
  "NaN",
  "undefined",
  "Boolean",
  "String",
  "Symbol",
  "Date",
  "Promise",
  "RegExp",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "globalThis",
  "JSON",
  "Math",
  "Intl",
  "ArrayBuffer",
  "Uint8Array",
  "Int8Array",
  "Uint16Array",
  "Int16Array",
  "Uint32Array",
  "Int32Array",
  "Float32Array",
  "Float64Array",
  "Uint8ClampedArray",
  "BigUint64Array",
  "BigInt64Array",
  "DataView",
  "Map",
  "BigInt",
  "Set",
  "Iterator",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "FinalizationRegistry",
  "Proxy",
  "Reflect",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "escape",
  "unescape",
  "eval",
  "isFinite",
  "isNaN",
];

/** On one line with the code, so that line numbers in errors are those of the code. */
export function toCodeModule(code: string): string {
  return `export default async () => { "use strict"; ${code}\n};`;
}

export const HARNESS_MODULE = `
import { WorkerEntrypoint } from "cloudflare:workers";

const encoder = new TextEncoder();
const NewTextDecoder = TextDecoder;
const kept = new Set(${JSON.stringify(KEPT_GLOBALS)});
for (let scope = globalThis; scope !== null && scope !== Object.prototype; scope = Object.getPrototypeOf(scope)) {
  for (const name of Object.getOwnPropertyNames(scope)) {
    if (name !== "constructor" && !kept.has(name)) {
      try { delete scope[name]; } catch {}
    }
  }
}
const prelude = ${PRELUDE_SOURCE};

export default class extends WorkerEntrypoint {
  async run({ files, maxOutputBytes }) {
    const changes = new Map();
    const output = { head: "", tail: "", bytes: 0 };
    const need = (path) => {
      const content = files.get(path);
      if (content !== undefined) return content;
      const names = [...files.keys()].sort();
      throw new Error("no file " + path + "; " + (names.length === 0 ? "the workspace is empty" : "files: " + names.slice(0, 10).join(", ")));
    };
    const encode = prelude({
      readText: (path, encoding) => {
        try {
          return new NewTextDecoder(encoding, { fatal: true }).decode(need(path));
        } catch (error) {
          if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
          throw new Error(path + " is not " + encoding + " text: read it with another encoding, such as readFile(path, \\"latin1\\"), or with readBytes(path)");
        }
      },
      readBytes: (path) => need(path).slice(),
      write: (path, content) => {
        const bytes = typeof content === "string" ? encoder.encode(content) : content.slice();
        files.set(path, bytes);
        changes.set(path, bytes);
      },
      remove: (path) => {
        if (!files.delete(path)) return false;
        changes.set(path, null);
        return true;
      },
      list: (prefix) => [...files.keys()].filter((path) => path.startsWith(prefix)).sort(),
      print: (text) => {
        output.bytes += encoder.encode(text).length;
        const room = Math.max(0, maxOutputBytes - output.head.length);
        output.head += text.slice(0, room);
        if (text.length > room) output.tail = (output.tail + text.slice(room)).slice(-maxOutputBytes);
      },
    });
    let settled;
    try {
      const { default: code } = await import("code.js");
      settled = { text: encode(await code()) };
    } catch (error) {
      settled = { thrown: error instanceof Error
        ? { name: String(error.name), message: String(error.message), stack: String(error.stack) }
        : { name: null, message: String(error), stack: "" } };
    }
    return { settled, output, changes: [...changes] };
  }
}
`;
