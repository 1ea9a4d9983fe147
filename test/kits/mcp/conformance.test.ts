/**
 * The MCP project's conformance suites against an agent of ours (test/support/mcp-fixture), in workerd. Nothing is expected to
 * fail. `UPDATE=1` writes what the suites said to results/, with their versions.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { startKeyProxy, type KeyProxy } from "./key-proxy.ts";
import { SUITES, type Suite } from "./suites.ts";

const HERE = import.meta.dirname;
/** The suites want a newer Node than the project does; the development dependency brings one. */
const NODE = resolve(HERE, "../../../node_modules/node/bin/node");

let server: BundledServer;
let proxy: KeyProxy;
beforeAll(async () => {
  server = await startBundled();
  proxy = await startKeyProxy(server.url, server.key);
});
afterAll(async () => {
  proxy.close();
  await server.dispose();
});

interface Ended {
  readonly code: number;
  readonly output: string;
}

function run({ entry, args }: Suite): Promise<Ended> {
  const url = `${proxy.url}/mcp/everything`;
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" };
  return new Promise((done) => {
    execFile(
      NODE,
      [entry, "server", "--url", url, ...args],
      { cwd: HERE, env, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) =>
        done({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` }),
    );
  });
}

/** Ports differ from run to run and say nothing. */
function record({ name, version, args }: Suite, { output }: Ended): void {
  const text = output.replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT");
  mkdirSync(join(HERE, "results"), { recursive: true });
  writeFileSync(join(HERE, "results", `${name}.txt`), `${version} ${args.join(" ")}\n\n${text}`);
}

describe("@modelcontextprotocol/conformance", () => {
  it.each(SUITES.map((suite) => [`${suite.name} ${suite.version}`, suite] as const))(
    "%s",
    async (_title, suite) => {
      const ended = await run(suite);
      if (process.env["UPDATE"] === "1") record(suite, ended);
      const failures = ended.output.split("\n").filter((line) => /✗|[1-9]\d* failed/.test(line));
      expect({ failures, code: ended.code }).toEqual({ failures: [], code: 0 });
    },
    600_000,
  );
});
