/** The verifier of the audit in Python's standard library, over texts of exports, in one process (L13). */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const VERIFIER = join(import.meta.dirname, "../../scripts/verify_log.py");

export const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

/** One line a text: `ok ...` or `bad seq=N reason=...`. */
export function verifyWithPython(texts: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
  try {
    const paths = texts.map((text, index) => {
      const path = join(folder, `${index}.jsonl`);
      writeFileSync(path, text);
      return path;
    });
    const { stdout } = spawnSync("python3", [VERIFIER, ...paths], { encoding: "utf8" });
    return stdout.trimEnd().split("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The export with one bit of the payload of `seq` flipped. */
export function flipBit(text: string, seq: number): string {
  return text
    .split("\n")
    .map((line, index) => {
      if (index !== seq) return line;
      const event = JSON.parse(line) as { payload: string };
      const bytes = Buffer.from(event.payload, "base64");
      bytes[1] = (bytes[1] ?? 0) ^ 1;
      return JSON.stringify({ ...event, payload: bytes.toString("base64") });
    })
    .join("\n");
}
