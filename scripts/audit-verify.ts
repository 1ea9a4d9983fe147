/**
 * `npm run audit:verify -- FILE [--keys KEYS.json] [--json]`: verifies an exported log without the service. Exits 0 when it
 * is sound, 1 with the first bad event when it is not, 2 when it cannot be read.
 *
 * KEYS.json is a JWKS, or one JWK, that you trust: the service publishes its own at /.well-known/jwks.json. Without it the
 * keys of the file are used, which shows damage and no forgery; the answer says so.
 */
import { createReadStream, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { isLogExport, verifyExport } from "#audit/export.ts";
import type { ExportFault, ExportReport } from "#audit/export-verifier.ts";
import { parseKeySet } from "#audit/key-set.ts";
import type { Hasher } from "#ports/hasher.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import type { PublicKey } from "#ports/signing.ts";
import type { Json } from "#shared/json.ts";
import { verifyFile } from "./lib/verify-file.ts";

interface Outcome {
  readonly ok: boolean;
  readonly text: string;
  readonly json: unknown;
}

function readKeys(path: string): readonly PublicKey[] {
  const keys = parseKeySet(JSON.parse(readFileSync(path, "utf8")) as Json, new NodeHasher());
  if (keys === null) throw new Error(`${path} is no set of Ed25519 keys`);
  return keys;
}

async function run(path: string, keys: readonly PublicKey[] | null): Promise<Outcome> {
  const hasher = new NodeHasher();
  const [first = ""] = await firstLine(path);
  if (isLogExport(first)) return toLogOutcome(readFileSync(path, "utf8"), hasher);
  const result = await verifyFile(path, keys);
  const trust = keys === null ? "file" : "given";
  return result.ok
    ? {
        ok: true,
        text: toText(result.value, trust),
        json: { ok: true, keys: trust, ...result.value },
      }
    : {
        ok: false,
        text: toFaultText(result.error),
        json: { ok: false, keys: trust, ...result.error },
      };
}

/** Of a file that is no export at all, only its beginning is looked at. */
async function firstLine(path: string): Promise<readonly string[]> {
  const start = createReadStream(path, { start: 0, end: 65_535, encoding: "latin1" });
  let text = "";
  for await (const piece of start) text += String(piece);
  return text.split("\n", 1);
}

/** The format of one log without signed heads. */
function toLogOutcome(text: string, hasher: Hasher): Outcome {
  const result = verifyExport(text, hasher);
  if (!result.ok) {
    const fault = { logId: null, line: result.error.seq + 1, since: 0, ...result.error };
    return { ok: false, text: toFaultText(fault), json: { ok: false, keys: "none", ...fault } };
  }
  const { logId, events, erased } = result.value;
  return {
    ok: true,
    text: [
      `ok   log ${logId}: ${events} events, ${erased} erased`,
      "     no signed heads in this format: a rewritten chain, or a tail cut together with the first line, does not show",
    ].join("\n"),
    json: { ok: true, keys: "none", ...result.value },
  };
}

function toText(report: ExportReport, keys: "given" | "file"): string {
  const { scope, at, logs, events, erased, anchors, unanchored, signed } = report;
  const whose = scope.thread === null ? "all threads" : `thread ${scope.agent}/${scope.thread}`;
  const lines = [
    `ok   ${logs} logs, ${events} events, ${erased} of them erased`,
    `     ${anchors} signed heads fit; ${unanchored} events are newer than the signed head of their log`,
    `     tenant ${scope.tenant}, ${whose}, exported ${new Date(at).toISOString()}`,
    signed ? "     the file is signed as a whole" : "     nobody signed this file",
  ];
  if (keys === "file")
    lines.push(
      "     keys: those of the file itself, which show damage and no forgery. Give --keys",
    );
  return lines.join("\n");
}

function toFaultText({
  logId,
  seq,
  reason,
  line,
  since,
}: Omit<ExportFault, "reason"> & { readonly reason: string }): string {
  const where = logId === null ? `line ${line}` : `log ${logId}, event ${seq} (line ${line})`;
  const behind =
    reason === "anchor_mismatch" ? `; the chain was rewritten behind event ${since}` : "";
  return `bad  ${where}: ${reason}${behind}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keys: { type: "string" }, json: { type: "boolean", default: false } },
});
const [path] = positionals;
if (path === undefined) {
  process.stderr.write("usage: npm run audit:verify -- FILE [--keys KEYS.json] [--json]\n");
  process.exitCode = 2;
} else {
  try {
    const outcome = await run(path, values.keys === undefined ? null : readKeys(values.keys));
    process.stdout.write(`${values.json ? JSON.stringify(outcome.json) : outcome.text}\n`);
    process.exitCode = outcome.ok ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
