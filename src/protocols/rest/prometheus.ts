/** The text format of Prometheus, version 0.0.4. */
import type { Family } from "./metric-families.ts";

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Families without a sample say that they exist. Ends with a line feed, as the format asks. */
export function toPrometheus(families: readonly Family[]): string {
  return families
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${escape(help)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels, value }) => `${name}${toLabels(labels)} ${value}`),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function toLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escape(value).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
