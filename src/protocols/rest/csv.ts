/**
 * CSV (RFC 4180) for spreadsheets. A text that one would take for a formula is made a text (B31): names of tools and routes
 * come from whoever wrote the agent.
 */
export function toCsv(
  columns: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const lines = [columns, ...rows].map((cells) => cells.map(toCell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function toCell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
