/** The JSON Pointer (RFC 6901) of a path. The whole document is the empty string. */
export function toJsonPointer(path: readonly PropertyKey[]): string {
  return path
    .map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}
