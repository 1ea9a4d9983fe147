/** The verifier of the audit in Python's standard library, over texts of exports, in one process (L13). */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "#shared/json.ts";

const VERIFIER = join(import.meta.dirname, "../../scripts/verify_log.py");

export const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

/** One line a text: `ok ...` or `bad seq=N reason=...`. `keys` is a JWKS that it trusts; without it those of the files. */
export function verifyWithPython(
  texts: readonly (string | Uint8Array)[],
  keys: Json = null,
): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
  try {
    const paths = texts.map((text, index) => {
      const path = join(folder, `${index}.jsonl`);
      writeFileSync(path, text);
      return path;
    });
    const keyFile = join(folder, "keys.json");
    if (keys !== null) writeFileSync(keyFile, JSON.stringify(keys));
    const trust = keys === null ? [] : ["--keys", keyFile];
    const { stdout } = spawnSync("python3", [VERIFIER, ...trust, ...paths], {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout.trimEnd().split("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The export with one bit of the payload of `seq` flipped. */
export function flipBit(text: string, seq: number): string {
  return text
    .split("\n")
    .map((line) => {
      if (!line.endsWith(`"seq":${seq}}`)) return line;
      const event = JSON.parse(line) as { payload: string };
      const bytes = Buffer.from(event.payload, "base64");
      bytes[1] = (bytes[1] ?? 0) ^ 1;
      return JSON.stringify({ ...event, payload: bytes.toString("base64") });
    })
    .join("\n");
}
