/** Headers under which a workspace file is served. */
import type { FileStat } from "#ports/workspace.ts";

/** Types that a browser shows without running anything. All others are downloads, html, svg and xml above all. */
const INLINE: ReadonlyMap<string, string> = new Map([
  ["txt", "text/plain; charset=utf-8"],
  ["log", "text/plain; charset=utf-8"],
  ["md", "text/markdown; charset=utf-8"],
  ["csv", "text/csv; charset=utf-8"],
  ["tsv", "text/tab-separated-values; charset=utf-8"],
  ["json", "application/json"],
  ["jsonl", "application/jsonl"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
]);
const DOWNLOAD: ReadonlyMap<string, string> = new Map([
  ["html", "text/html; charset=utf-8"],
  ["htm", "text/html; charset=utf-8"],
  ["svg", "image/svg+xml"],
  ["xml", "application/xml"],
  ["pdf", "application/pdf"],
  ["js", "text/javascript; charset=utf-8"],
  ["zip", "application/zip"],
]);

export function fileHeaders(stat: FileStat): { readonly [name: string]: string } {
  const name = stat.path.slice(stat.path.lastIndexOf("/") + 1);
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
  const inline = INLINE.get(extension);
  const disposition = inline === undefined ? "attachment" : "inline";
  return {
    "content-type": inline ?? DOWNLOAD.get(extension) ?? "application/octet-stream",
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
