/** Headers under which a workspace file is served. */
import { contentTypeOf, isInline, toName } from "#protocols/common/content-types.ts";
import type { FileStat } from "#ports/workspace.ts";

export function fileHeaders(stat: FileStat): { readonly [name: string]: string } {
  const name = toName(stat.path);
  const disposition = isInline(stat.path) ? "inline" : "attachment";
  return {
    "content-type": contentTypeOf(stat.path),
    "content-disposition": `${disposition}; filename*=UTF-8''${encodeFileName(name)}`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
    etag: `"${stat.digest}"`,
  };
}

/** RFC 8187: what encodeURIComponent leaves but a header parameter does not allow. */
function encodeFileName(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
