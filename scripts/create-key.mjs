/**
 * Makes an API key: `node scripts/create-key.mjs --tenant acme --name backend --remote`.
 *
 * With --local or --remote it is registered through wrangler; without either, the SQL is printed to be run by hand.
 * The key is printed once, on stdout and alone, and is stored nowhere.
 */
import { parseArgs } from "node:util";
import { createKey, revokeSql } from "./lib/api-key.mjs";
import { mustRun } from "./lib/project.mjs";

const { values } = parseArgs({
  options: {
    tenant: { type: "string" },
    name: { type: "string" },
    kind: { type: "string" },
    scopes: { type: "string" },
    "expires-in-days": { type: "string" },
    revoke: { type: "string" },
    local: { type: "boolean", default: false },
    remote: { type: "boolean", default: false },
    config: { type: "string" },
    "persist-to": { type: "string" },
  },
});

function where() {
  if (values.local && values.remote) throw new RangeError("--local or --remote, not both");
  const config = values.config ?? (values.local ? "wrangler.dev.toml" : "wrangler.toml");
  const persist = values["persist-to"] === undefined ? [] : ["--persist-to", values["persist-to"]];
  return [values.local ? "--local" : "--remote", "-c", config, ...persist];
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function register(sql) {
  const note = (line) => process.stderr.write(`${line}\n`);
  if (!values.local && !values.remote) {
    note(
      `Run this to register it:\n\nnpx wrangler d1 execute DB --remote --command ${shellQuoted(sql)}\n`,
    );
    return;
  }
  await mustRun("Registering the key", "wrangler", [
    "d1",
    "execute",
    "DB",
    "--yes",
    ...where(),
    "--command",
    sql,
  ]);
}

try {
  if (values.revoke !== undefined) {
    await register(revokeSql(values.revoke, Date.now()));
    process.stderr.write(`${values.revoke} is refused everywhere within a minute.\n`);
  } else {
    if (values.tenant === undefined || values.name === undefined)
      throw new RangeError("--tenant and --name are needed");
    const days = values["expires-in-days"];
    const made = createKey(
      {
        tenant: values.tenant,
        name: values.name,
        kind: values.kind,
        scopes: values.scopes?.split(/[ ,]+/).filter((scope) => scope !== "") ?? null,
        expiresInDays: days === undefined ? null : Number(days),
      },
      Date.now(),
    );
    await register(made.sql);
    process.stderr.write(
      `${made.id}, tenant ${values.tenant}, scopes ${made.scopes.join(" ")}. Shown once:\n`,
    );
    process.stdout.write(`${made.key}\n`);
  }
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
