/** Builds dist/assets: the files of the API reference page, from the package as installed, so that it needs no network. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { MODULES, ROOT } from "./lib/project.mjs";

const FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png", "LICENSE", "NOTICE"];

const target = join(ROOT, "dist/assets/swagger");
mkdirSync(target, { recursive: true });
for (const file of FILES) copyFileSync(join(MODULES, "swagger-ui-dist", file), join(target, file));
