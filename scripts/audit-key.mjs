/**
 * `npm run audit:key --silent`: a new key that signs chain heads, for `wrangler secret put HOLDFAST_SIGNING_KEY`.
 *
 * With `-- --retire FILE` (a JWK, or the key set of /.well-known/jwks.json) it prints instead what to put into
 * HOLDFAST_RETIRED_KEYS: the keys of the file as public keys that end in an hour, those that have ended as they are.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { newSigningKey, retiredKey } from "./lib/signing-key.mjs";
import { say } from "./lib/project.mjs";

const { values } = parseArgs({ options: { retire: { type: "string" } } });
if (values.retire === undefined) say(JSON.stringify(newSigningKey()));
else {
  const file = JSON.parse(readFileSync(values.retire, "utf8"));
  const keys = (file.keys ?? [file]).map((key) => (key.exp === undefined ? retiredKey(key) : key));
  say(JSON.stringify({ keys }));
}
