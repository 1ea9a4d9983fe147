/** Why the A2A compatibility kit cannot run here, or null. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export default function whySkipped() {
  const kit = process.env["A2A_TCK_DIR"] ?? "";
  if (kit === "") return "A2A_TCK_DIR names no checkout of a2aproject/a2a-tck, branch 1.0-dev";
  if (!existsSync(join(kit, "tests/compatibility")))
    return "A2A_TCK_DIR is no checkout of branch 1.0-dev";
  const packages = spawnSync("python3", ["-c", "import pytest, httpx, jsonschema"]);
  return packages.status === 0 ? null : "python3 has no pytest, httpx and jsonschema";
}
