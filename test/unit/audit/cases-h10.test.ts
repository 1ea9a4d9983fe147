/** Handed case H10, the part that needs another language or a hundred thousand events; the public way in is in workerd. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";
import { canonicalJson, toWellFormedJson, utf8, type Json } from "#shared/json.ts";
import { largeExport } from "#test/support/large-export.ts";
import { HAS_PYTHON } from "#test/support/python-verifier.ts";

const SCRIPTS = join(import.meta.dirname, "../../../scripts");
const PAYLOADS: readonly Json[] = [
  { b: 1, a: 2 },
  { x: 1 },
  { x: 1e21 },
  { s: "é vs é" },
  { s: "\ud800" },
  JSON.parse('{"__proto__":1}') as Json,
];
const WRITER = `
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from log_verifier.strict import canonical, well_formed
for text in json.load(sys.stdin):
    line = canonical(well_formed(json.loads(text)))
    print(json.dumps([line, hashlib.sha256(line.encode("utf-8")).hexdigest()]))
`;

describe("H10: the same in another language, and fast", () => {
  it.runIf(HAS_PYTHON)(
    "H10 [H9] both writers give byte-identical canonical forms and hashes",
    () => {
      const texts = [
        '{"b":1,"a":2}',
        '{"x":1.0}',
        '{"x":1e+21}',
        '{"s":"é vs é"}',
        '{"s":"\\ud800"}',
        '{"__proto__":1}',
      ];
      const more = [
        '{"n":[0.1,-0.0,1e-7,123456789012345680000,5e-324,1.7976931348623157e308,100,-1.5e300]}',
        '{"\\ue000":1,"\\ud83d\\ude00":2}',
        '{"c":"\\u0000\\u001f\\u007f\\"\\\\"}',
      ];
      const values = [...PAYLOADS, ...more.map((text) => JSON.parse(text) as Json)];
      const { stdout, stderr } = spawnSync("python3", ["-c", WRITER, SCRIPTS], {
        input: JSON.stringify([...texts, ...more]),
        encoding: "utf8",
      });
      expect(stderr).toBe("");
      const written = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
      const hasher = new NodeHasher();
      const ours = values.map((value) => {
        const line = canonicalJson(toWellFormedJson(value));
        return [line, hasher.sha256(utf8(line))];
      });
      expect(written).toEqual(ours);
    },
    60_000,
  );

  it("H10 [H6] 100,000 events are verified in less than 10 s", async () => {
    const { pieces, keys } = await largeExport(100_000);
    // The processor's time: what else the machine does is not the verifier's.
    const before = process.cpuUsage();
    const trust = { hasher: new NodeHasher(), check: new WebCryptoCheck(), keys };
    const result = await verifyAuditExport(pieces(), trust);
    const { user, system } = process.cpuUsage(before);
    expect(result).toMatchObject({ ok: true, value: { events: 100_000, anchors: 1_000 } });
    expect((user + system) / 1_000).toBeLessThan(10_000);
  }, 240_000);
});
