/** Which pages and hosts may speak with an endpoint that takes credentials (P80): against DNS rebinding and foreign pages. */

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Plain HTTP is for this machine, under its own names. Over HTTPS the platform routes only hosts of this deployment here.
 */
export function isForeignHost(request: Request, allowed: readonly string[]): boolean {
  const { protocol, hostname, origin } = new URL(request.url);
  return protocol === "http:" && !LOOPBACK.has(hostname) && !allowed.includes(origin);
}

/** False where the request may go on; its origin is this server's, configured, this machine's own, or not a page's. */
export function isForeignOrigin(request: Request, allowed: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  const own = new URL(request.url);
  if (origin === null || origin === own.origin || allowed.includes(origin)) return false;
  return !(LOOPBACK.has(own.hostname) && isLoopback(origin));
}

function isLoopback(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);
}
