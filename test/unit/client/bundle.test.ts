/** The client as a browser gets it: built with the page's bundler, for a browser, from its entry. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { build, type Rollup } from "vite";
import { sourceFiles } from "#test/support/source-tree.ts";

const ENTRY = resolve(import.meta.dirname, "../../../client/client.ts");
const MAX_BYTES = 16 * 1024;

async function bundle(): Promise<Rollup.OutputChunk> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      target: "es2022",
      rolldownOptions: { output: { minify: true } },
      lib: { entry: ENTRY, formats: ["es"], fileName: "client" },
    },
  });
  const [output] = [built].flat();
  if (output === undefined || !("output" in output)) throw new Error("nothing was built");
  const chunks = output.output.filter((file) => file.type === "chunk");
  expect(chunks).toHaveLength(1);
  return chunks[0]!;
}

test("[P110] a browser's bundle holds nothing but the client's own files, and is small", async () => {
  const { code, imports, dynamicImports, moduleIds } = await bundle();
  expect([...imports, ...dynamicImports]).toEqual([]);
  const foreign = moduleIds.filter((id) => !/[\\/]client[\\/][a-z-]+\.ts$/.test(id));
  expect(foreign).toEqual([]);
  expect(code).not.toMatch(/\bprocess\b|\brequire\(|node:/);
  const bytes = Buffer.byteLength(code);
  console.log(`client: ${bytes} bytes, ${gzipSync(code).byteLength} compressed`);
  expect(bytes).toBeLessThan(MAX_BYTES);
});

test("[P119] the terminal client and the page ask nothing of the server past the client", () => {
  const files = [...sourceFiles("web"), ...sourceFiles("scripts/chat")];
  const asking = files.filter((file) => {
    const source = readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, "");
    return /\bfetch\(|EventSource|XMLHttpRequest|last-event-id/i.test(source);
  });
  // Both hand the client a fetch that looks at the answers: one for a refusal, one for a server that is away.
  expect(asking).toEqual(["web/api/api.ts", "scripts/chat/connect.mjs"]);
});
