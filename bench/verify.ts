/**
 * `npm run bench -- verify`: events a second that the verifier checks, by CPU time, in this process: what a core does once it
 * is started. A signed head stands behind every hundredth event. It prints the quickest of the rounds and the first, in which
 * the code is still being compiled.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { verifyFile } from "../scripts/lib/verify-file.ts";
import { largeExport } from "../test/support/large-export.ts";

const ROUNDS = 5;
const EVENTS = 100_000;
const folder = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
try {
  const path = join(folder, "export.jsonl");
  const { pieces, keys } = await largeExport(EVENTS);
  await writeFile(path, pieces());
  const { size } = statSync(path);
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = process.cpuUsage();
    const result = await verifyFile(path, keys);
    if (!result.ok) throw new Error(result.error.reason);
    const { user, system } = process.cpuUsage(startedAt);
    seconds.push((user + system) / 1e6);
  }
  const rate = (took: number): string =>
    `${Math.round(EVENTS / took)} events/s, ${Math.round(size / took / 1e6)} MB/s`;
  process.stdout.write(
    `verify: ${EVENTS} events of ${Math.round(size / EVENTS)} bytes, load ${loadavg()[0]?.toFixed(1)}\n` +
      `  quickest round ${rate(Math.min(...seconds))}\n  first round    ${rate(seconds[0] ?? 0)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
