/** Verifies an exported file of either format as it streams by: the one entry of command, tests and endpoints. */
import { err, ok, type Result } from "#shared/result.ts";
import {
  ExportVerifier,
  type ExportFault,
  type ExportReport,
  type Trust,
} from "./export-verifier.ts";
import { readLines } from "./read-lines.ts";

export async function verifyAuditExport(
  pieces: AsyncIterable<Uint8Array>,
  trust: Trust,
): Promise<Result<ExportReport, ExportFault>> {
  const verifier = new ExportVerifier(trust);
  for await (const lines of readLines(pieces)) {
    for (const line of lines) {
      if (line === null) return err(verifier.broken());
      const verdict = verifier.take(line);
      const fault = verdict instanceof Promise ? await verdict : verdict;
      if (fault !== null) return err(fault);
    }
  }
  const end = verifier.finish();
  return "fault" in end ? err(end.fault) : ok(end.report);
}
