/** Media types of workspace files, by their names: their content is not looked into. */

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

export function contentTypeOf(path: string): string {
  const extension = toExtension(toName(path));
  return INLINE.get(extension) ?? DOWNLOAD.get(extension) ?? "application/octet-stream";
}

export function toName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function toExtension(name: string): string {
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

/** Whether a browser may show it in place. */
export function isInline(path: string): boolean {
  return INLINE.has(toExtension(toName(path)));
}
