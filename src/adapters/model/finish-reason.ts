/**
 * Why an answer ended: the SDK's word, or the provider's own where the SDK has none for it (K29). A router passes on the
 * words of the provider behind it, and a limit or a filter that is taken for an ordinary end would let a cut call run.
 */
import type { FinishReason } from "#ports/model.ts";

const LENGTH: ReadonlySet<string> = new Set([
  "length",
  "length_limit",
  "max_completion_tokens",
  "max_length",
  "max_output_tokens",
  "max_tokens",
  "model_context_window_exceeded",
  "model_length",
  "token_limit",
]);
const FILTERED: ReadonlySet<string> = new Set([
  "blocklist",
  "content_filter",
  "content_filtered",
  "error_toxic",
  "guardrail_intervened",
  "image_safety",
  "prohibited_content",
  "recitation",
  "refusal",
  "safety",
  "sensitive",
  "spii",
]);

export function toFinishReason(
  unified: "stop" | "length" | "content-filter" | "tool-calls" | "other",
  raw: string | undefined,
): FinishReason {
  switch (unified) {
    case "content-filter":
      return "content_filter";
    case "tool-calls":
      return "tool_calls";
    case "other":
      return raw === undefined ? "other" : fromProvider(raw);
    default:
      return unified;
  }
}

function fromProvider(raw: string): FinishReason {
  const word = raw.toLowerCase();
  if (LENGTH.has(word)) return "length";
  return FILTERED.has(word) ? "content_filter" : "other";
}
