/**
 * The page at `/` and its files under `/app/`, built from web/ (scripts/build-assets.mjs).
 *
 * Names of built files hold their content's hash, so they may be kept for ever; the document may not, or a deploy would
 * not be seen.
 */
import type { Hono } from "hono";
import type { RestEnv } from "#protocols/rest/context.ts";
import { LANDING_CSP, LANDING_PAGE, PAGE_CSP } from "./pages.ts";

type Assets = (request: Request) => Promise<Response>;

const DOCUMENT = "/app/";
const HASHED = /-[A-Za-z0-9_-]{8}\.(?:js|css)$/;
const FOR_EVER = "public, max-age=31536000, immutable";

export function mountPage(app: Hono<RestEnv>, assets: Assets | null): void {
  app.get("/", async (c) => {
    const built = assets === null ? null : await assets(new Request(new URL(DOCUMENT, c.req.url)));
    if (built?.ok !== true) {
      return c.html(LANDING_PAGE, 200, { "content-security-policy": LANDING_CSP });
    }
    return c.html(await built.text(), 200, { "content-security-policy": PAGE_CSP });
  });
  if (assets === null) return;
  app.get("/app/:file{[A-Za-z0-9._-]+}", async (c) => {
    const response = ownHeaders(await assets(c.req.raw));
    if (response.ok && HASHED.test(c.req.path)) response.headers.set("cache-control", FOR_EVER);
    return response;
  });
}

/** A fetched response has headers that cannot be changed. */
export function ownHeaders(response: Response): Response {
  return new Response(response.body, response);
}
