/**
 * The MCP project's conformance suites against an agent of ours (test/support/mcp-fixture), in workerd. Nothing is expected to
 * fail. `UPDATE=1` writes what the suites said to results/, with their versions.
 */
import { execFile, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { startKeyProxy, type KeyProxy } from "./key-proxy.ts";
import { OAuthPerson } from "../../support/oauth-person.ts";
import { AUTHORIZATION, SUITES, type Suite } from "./suites.ts";

const HERE = import.meta.dirname;
/** The suites want a newer Node than the project does; the development dependency brings one. */
const NODE = resolve(HERE, "../../../node_modules/node/bin/node");

/** Where the suite waits for the browser of the person who signs in. */
const CALLBACK_PORT = 38_471;
const CALLBACK = `http://127.0.0.1:${CALLBACK_PORT}/callback`;
/** An app that is known by an address, where its description lies. */
const APP = "https://app.example.com/oauth/client.json";
const DESCRIPTION = {
  client_id: APP,
  client_name: "Conformance app",
  redirect_uris: [CALLBACK],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};

let server: BundledServer;
let proxy: KeyProxy;
beforeAll(async () => {
  server = await startBundled({ [APP]: DESCRIPTION });
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
  return execute([entry, "server", "--url", url, ...args]);
}

function execute(
  args: readonly string[],
  watch: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" };
  return new Promise((done) => {
    const child = execFile(
      NODE,
      args,
      { cwd: HERE, env, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) =>
        done({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` }),
    );
    watch(child);
  });
}

/** The suite names an address, a person opens it in a browser and allows it, and the browser goes where it is sent. */
function signIn(client: string): Promise<Ended> {
  const args = [AUTHORIZATION.entry, "authorization", "--url", server.url, "--client-id", client];
  const resource = `${server.url}/mcp/everything`;
  const person = new OAuthPerson(server.url, server.key, "everything");
  args.push("--resource", resource, "--port", String(CALLBACK_PORT));
  return execute(args, ({ stdout }) => {
    let said = "";
    let opened = false;
    stdout?.on("data", (chunk: Buffer | string) => {
      said += String(chunk);
      const address = /^http:\S+\/oauth\/authorize\S+$/m.exec(said)?.[0];
      if (opened || address === undefined || !said.includes("Waiting")) return;
      opened = true;
      void person.allow(new URL(address)).then((callback) => fetch(callback));
    });
  });
}

/** Ports differ from run to run and say nothing. */
function record({ name, version, args }: Suite, { output }: Ended): void {
  const text = output
    .replaceAll(/127\.0\.0\.1(:|%3A)\d+/g, "127.0.0.1$1PORT")
    .replaceAll(/(state|code|code_challenge|client_id)=[^&\s"]+/g, "$1=...")
    .replaceAll(/for client '[^']+'/g, "for client '...'");
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

  it.each([
    ["registered", () => new OAuthPerson(server.url, server.key).register("Kit", CALLBACK)],
    ["known by its address", () => Promise.resolve(APP)],
  ])(
    `authorization server ${AUTHORIZATION.version}, app %s`,
    async (kind, client) => {
      const ended = await signIn(await client());
      const name = `authorization-${kind.replaceAll(" ", "-")}`;
      if (process.env["UPDATE"] === "1") record({ ...AUTHORIZATION, name }, ended);
      expect(ended.output).toMatch(/Total: 3 passed, 0 failed/);
      expect(ended.output).not.toMatch(/✗|[1-9]\d* warnings/);
      expect(ended.code).toBe(0);
    },
    60_000,
  );
});
