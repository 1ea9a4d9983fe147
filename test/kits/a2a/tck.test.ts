/** The A2A compatibility kit: what it says is written to results/, and no MUST may fail on either binding. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Said {
  readonly report: {
    readonly summary: { readonly timestamp: string };
    readonly per_requirement: Readonly<
      Record<
        string,
        { readonly level: string; readonly transports: Readonly<Record<string, string>> }
      >
    >;
  };
}

it("[P90][P91] every MUST that is tested passes, over JSON-RPC and HTTP+JSON", async () => {
  const begun = Date.now();
  const runner = join(import.meta.dirname, "run.mjs");
  await once(spawn(process.execPath, [runner], { stdio: "inherit" }), "exit");
  const file = join(import.meta.dirname, "results/tck-1.0-dev.json");
  const said = JSON.parse(readFileSync(file, "utf8")) as Said;
  // A runner that broke leaves the result of an earlier run, which says nothing of this one.
  expect(Date.parse(said.report.summary.timestamp)).toBeGreaterThan(begun);
  const must = Object.entries(said.report.per_requirement).filter(
    ([, { level }]) => level === "MUST",
  );
  const failed = must.filter(([, { transports }]) =>
    Object.values(transports).some((result) => result === "FAIL"),
  );
  expect(must.length).toBeGreaterThan(80);
  expect(failed.map(([id]) => id)).toEqual([]);
}, 900_000);
