/** What wrangler and the workerd test pool make of a `.wasm` import. */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
