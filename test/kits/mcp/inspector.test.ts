/**
 * The MCP Inspector's command line against an agent of ours (test/support/mcp-fixture), in workerd: with a key, with a token
 * that OAuth gave, and with neither; over both generations. `UPDATE=1` writes what it said to results/.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { OAuthPerson } from "../../support/oauth-person.ts";

const HERE = import.meta.dirname;
const NODE = resolve(HERE, "../../../node_modules/node/bin/node");
const PACKAGE = join(HERE, "node_modules/@modelcontextprotocol/inspector");
const AGENT = "everything";
const CLI = join(PACKAGE, "clients/cli/build/index.js");
const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as {
  version: string;
};

let server: BundledServer;
/** Where it keeps its catalog and its tokens; nothing of the person's own is read. */
let home: string;
let credentials: Readonly<Record<string, string>>;
const said: string[] = [];

beforeAll(async () => {
  server = await startBundled();
  home = mkdtempSync(join(tmpdir(), "holdfast-inspector-"));
  const { access_token } = await new OAuthPerson(server.url, server.key, AGENT).signIn({});
  credentials = { key: server.key, "token of OAuth": access_token };
});
afterAll(async () => {
  await server.dispose();
  rmSync(home, { recursive: true, force: true });
  if (process.env["UPDATE"] !== "1") return;
  mkdirSync(join(HERE, "results"), { recursive: true });
  const text = said
    .join("\n")
    .replaceAll(/req_[0-9a-f]+/g, "req_ID")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT");
  writeFileSync(join(HERE, "results/inspector.txt"), `${version}\n\n${text}`);
});

interface Ended {
  readonly code: number | string | null;
  readonly output: string;
  readonly errors: string;
}

function inspect(credential: string | null, era: string, args: readonly string[]): Promise<Ended> {
  const header = credential === null ? [] : ["--header", `Authorization: Bearer ${credential}`];
  const place = ["--server-url", `${server.url}/mcp/${AGENT}`, "--transport", "http"];
  const how = ["--protocol-era", era, "--format", "json", "--stored-auth-only"];
  const env = { PATH: process.env["PATH"], HOME: home, NO_COLOR: "1" };
  return new Promise((done) => {
    execFile(NODE, [CLI, ...place, ...how, ...header, ...args], { env }, (error, output, errors) =>
      done({ code: error === null ? 0 : (error.code ?? null), output, errors }),
    );
  });
}

const LISTS = ["tools/list", "resources/list", "prompts/list"] as const;
const CALL = ["--method", "tools/call", "--tool-name", "structured_result"];
const EXPECTED = {
  "tools/list": /"test_simple_text"/,
  "resources/list": /"test:\/\/static-text"/,
  "prompts/list": /"test_simple_prompt"/,
};

describe.each(["legacy", "modern"])(`Inspector ${version}, %s`, (era) => {
  async function ask(kind: string, args: readonly string[]): Promise<string> {
    const ended = await inspect(credentials[kind] ?? null, era, args);
    said.push(
      `${era}, ${kind}: ${args.join(" ")} -> ${ended.code}\n${ended.output}${ended.errors}`,
    );
    expect(ended).toMatchObject({ code: 0 });
    return ended.output;
  }

  it.each(LISTS)("%s with a key", async (method) => {
    expect(await ask("key", ["--method", method])).toMatch(EXPECTED[method]);
  });

  it.each(["key", "token of OAuth"])("tools/call with a %s", async (kind) => {
    expect(await ask(kind, CALL)).toMatch(/"structuredContent":\s*\{\s*"sum":\s*5/);
  });

  it("is told to sign in where it has no credentials", async () => {
    const { code, errors } = await inspect(null, era, ["--method", "tools/list"]);
    said.push(`${era}, no credentials: --method tools/list -> ${code}\n${errors}`);
    expect(code).not.toBe(0);
    expect(errors).toMatch(/auth_required/);
  });
});
