/** Headers of every response. A route may set a stricter or fitting value itself; what it set is kept. */
const DEFAULTS: readonly (readonly [name: string, value: string])[] = [
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["x-frame-options", "DENY"],
  ["cross-origin-resource-policy", "same-origin"],
  // Nothing of the API is a page: a response that a browser takes for one may load and run nothing.
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["cache-control", "no-store"],
];

export function setSecurityHeaders(headers: Headers, { https }: { readonly https: boolean }): void {
  for (const [name, value] of DEFAULTS) {
    if (!headers.has(name)) headers.set(name, value);
  }
  if (https) headers.set("strict-transport-security", "max-age=31536000; includeSubDomains");
}
