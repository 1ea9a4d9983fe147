/**
 * `npm run migrations:record`: adds new migration files to migrations/applied.json. Recorded ones are never touched: a
 * file that objects have applied must not change, and test/architecture/migrations.test.ts holds that.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, say } from "./lib/project.mjs";

const FOLDER = "migrations";
const LIST = join(ROOT, FOLDER, "applied.json");

const recorded = existsSync(LIST) ? JSON.parse(readFileSync(LIST, "utf8")) : {};
const files = readdirSync(join(ROOT, FOLDER), { recursive: true })
  .filter((name) => name.endsWith(".sql"))
  .map((name) => `${FOLDER}/${name}`)
  .sort();
const added = files.filter((file) => recorded[file] === undefined);
for (const file of added) {
  recorded[file] = createHash("sha256")
    .update(readFileSync(join(ROOT, file)))
    .digest("hex");
}
const sorted = Object.fromEntries(Object.entries(recorded).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(LIST, `${JSON.stringify(sorted, null, 2)}\n`);
say(added.length === 0 ? "Nothing new to record." : `Recorded: ${added.join(", ")}`);
