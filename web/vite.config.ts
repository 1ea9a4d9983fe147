import { defineConfig } from "vite";

/** Files lie flat under /app/, where the Worker serves them; the document is served at `/` (src/http/page.ts). */
export default defineConfig({
  base: "/app/",
  build: { assetsDir: "", emptyOutDir: true, target: "es2024", modulePreload: { polyfill: false } },
});
