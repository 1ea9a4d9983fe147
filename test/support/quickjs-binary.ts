/** QuickJS as plain Node loads it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import type { QuickJsBinary } from "#adapters/sandbox/quickjs-sandbox.ts";

export async function nodeQuickJsBinary(): Promise<QuickJsBinary> {
  const path = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
  // Node compiles at run time; the types are those of workerd, which does not.
  const { compile } = WebAssembly as unknown as {
    compile(bytes: Uint8Array): Promise<WebAssembly.Module>;
  };
  return { variant, wasmModule: await compile(readFileSync(path)) };
}
