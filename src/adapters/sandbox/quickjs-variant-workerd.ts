/**
 * QuickJS for workerd, which compiles no WebAssembly at run time: the module is imported. By a relative path, because
 * wrangler has no loader for a package subpath without the extension `.wasm` (measured, compatibility date 2026-11-01).
 */
import variant from "@jitl/quickjs-wasmfile-release-sync";
// oxlint-disable-next-line no-restricted-imports -- the vendor package of this adapter, by the one spelling that bundles
import wasmModule from "../../../node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.wasm";
import type { QuickJsBinary } from "./quickjs-sandbox.ts";

export function loadQuickJsVariant(): QuickJsBinary {
  return { variant, wasmModule };
}
