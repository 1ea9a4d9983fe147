/**
 * The one place that reads a provider's failure: status, headers, error objects, network and abort errors in, one
 * `error` part out (rule M5 of #ports/model.ts). Texts of providers are matched here and nowhere else, each pattern
 * beside a message as it was seen.
 *
 * Messages are written for the run's log: one line, bounded, without credentials, headers or addresses' queries.
 */
import type { ModelErrorCode, ModelPart } from "#ports/model.ts";

export type ModelFailure = Extract<ModelPart, { type: "error" }>;

export interface FailureContext {
  /** Whether the provider had already begun to answer: a connection that dies later leaves an incomplete stream. */
  readonly phase: "request" | "stream";
  readonly signal: AbortSignal;
  /** Exact strings that must not appear in a message. */
  readonly secrets: readonly string[];
  /** Epoch ms, to read a Retry-After date against. */
  readonly now: number;
}

/** What providers say when the prompt is too long, as [pattern, sample]. The samples are asserted by a test. */
export const OVERFLOW_PATTERNS: readonly (readonly [pattern: RegExp, sample: string])[] = [
  [
    /maximum context length/i,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
  ],
  [
    /exceeds? the context window/i,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
  ],
  [/context_length_exceeded/i, "context_length_exceeded"],
  [/prompt is too long/i, "prompt is too long: 213462 tokens > 200000 maximum"],
  [
    /input token count.*exceeds the maximum/i,
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
  ],
  [
    /maximum prompt length is \d+/i,
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  ],
  [/reduce the length of the messages/i, "Please reduce the length of the messages or completion."],
  [
    /exceed(?:s|ed)? (?:the )?available context size/i,
    "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
  ],
  [
    /greater than the context length/i,
    "The number of tokens to keep from the initial prompt is greater than the context length",
  ],
  [
    /longer than the maximum model length/i,
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
  ],
  [/exceeded max context length/i, "prompt too long; exceeded max context length by 12 tokens"],
  [/input is too long for requested model/i, "Input is too long for requested model."],
  [
    /model context window limit/i,
    "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (7968).",
  ],
];

/** A quota that waiting does not refill is a refusal, whatever its status says. */
const EXHAUSTED_QUOTA = /insufficient_quota|exceeded your current quota|credit balance is too low/i;
const OVERLOADED = /overloaded|capacity temporarily exceeded|server is busy/i;
const RATE_LIMITED = /rate[_ -]?limit|too many requests/i;
const NETWORK =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EPIPE|UND_ERR|fetch failed|cannot connect|network|socket|connection/i;
const NO_FINISH = /ended without a finish reason/i;
const MAX_MESSAGE = 400;

interface Facts {
  readonly name: string;
  readonly status: number | null;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function classifyError(error: unknown, context: FailureContext): ModelFailure {
  if (context.signal.aborted) return abortFailure(context.signal);
  const facts = readFacts(error);
  const failure = (code: ModelErrorCode, retryable: boolean, lead: string): ModelFailure => ({
    type: "error",
    code,
    message: toMessage(lead, facts.text, context.secrets),
    retryable,
    retryAfterMs: retryable ? readRetryAfter(facts.headers, context.now) : null,
    usage: null,
  });
  return fromStatus(facts, failure) ?? fromText(facts, context, failure);
}

/** The caller's own abort: its reason tells a deadline from a cancellation. */
export function abortFailure(signal: AbortSignal): ModelFailure {
  const isTimeout = nameOf(signal.reason) === "TimeoutError";
  return {
    type: "error",
    code: isTimeout ? "timeout" : "aborted",
    message: isTimeout ? "the model call reached its deadline" : "the model call was aborted",
    retryable: isTimeout,
    retryAfterMs: null,
    usage: null,
  };
}

export function plainFailure(code: ModelErrorCode, message: string): ModelFailure {
  return { type: "error", code, message, retryable: true, retryAfterMs: null, usage: null };
}

type Make = (code: ModelErrorCode, retryable: boolean, lead: string) => ModelFailure;

function fromStatus({ status, text }: Facts, failure: Make): ModelFailure | null {
  if (status === null || status < 400) return null;
  const lead = `the provider answered ${status}`;
  // A refusal of credentials may quote them, so its text is not passed on.
  if (status === 401 || status === 402 || status === 403) {
    return {
      ...failure("unauthorized", false, lead),
      message: `${lead}: it refused the configured credentials`,
    };
  }
  if (status === 408 || status === 504) return failure("timeout", true, lead);
  if (status === 429) return failure("rate_limited", !EXHAUSTED_QUOTA.test(text), lead);
  if (status >= 500)
    return isOverflow(text)
      ? failure("context_overflow", false, lead)
      : failure("overloaded", true, lead);
  if (isOverflow(text)) return failure("context_overflow", false, lead);
  if (status === 409 || status === 425) return failure("unavailable", true, lead);
  return failure("invalid_request", false, lead);
}

function fromText({ name, text }: Facts, { phase }: FailureContext, failure: Make): ModelFailure {
  if (NO_FINISH.test(text))
    return failure("stream_incomplete", true, "the stream ended before the answer did");
  if (name === "TimeoutError")
    return failure("timeout", true, "the provider did not answer in time");
  if (isOverflow(text)) return failure("context_overflow", false, "the prompt is too long");
  if (EXHAUSTED_QUOTA.test(text))
    return failure("rate_limited", false, "the provider's quota is used up");
  if (RATE_LIMITED.test(text)) return failure("rate_limited", true, "the provider limits the rate");
  if (OVERLOADED.test(text)) return failure("overloaded", true, "the provider is overloaded");
  if (
    phase === "stream" &&
    (name === "AI_APICallError" || name === "AbortError" || NETWORK.test(text))
  ) {
    return failure("stream_incomplete", true, "the connection broke before the answer ended");
  }
  if (phase === "stream") return failure("stream_error", true, "the provider's stream failed");
  if (name === "AI_UnsupportedFunctionalityError" || name === "AI_InvalidPromptError") {
    return failure("invalid_request", false, "the request cannot be expressed for this provider");
  }
  return failure("unavailable", true, "the provider could not be reached");
}

function isOverflow(text: string): boolean {
  return OVERFLOW_PATTERNS.some(([pattern]) => pattern.test(text));
}

/** Errors come as Error, as JSON error objects inside a stream, or as bare strings; fields are read by shape. */
function readFacts(error: unknown): Facts {
  const fields = isRecord(error) ? error : {};
  const body = typeof fields["responseBody"] === "string" ? fields["responseBody"] : "";
  const own = typeof error === "string" ? error : stringOf(fields["message"]);
  const cause = isRecord(fields["cause"]) ? stringOf(fields["cause"]["message"]) : "";
  const labels = [stringOf(fields["code"]), stringOf(fields["type"])].filter(
    (label) => label !== "",
  );
  const parts = [own, cause, ...labels].filter(
    (part, index, all) => part !== "" && all.indexOf(part) === index,
  );
  return {
    name: nameOf(error),
    status: statusOf(fields),
    text: parts.join("; ") || body,
    headers: headersOf(fields["responseHeaders"]),
  };
}

function statusOf(fields: Readonly<Record<string, unknown>>): number | null {
  for (const key of ["statusCode", "status", "code"]) {
    const value = Number(fields[key]);
    // Error objects inside a 200 stream often carry the status as their code.
    if (Number.isInteger(value) && value >= 400 && value < 600) return value;
  }
  return null;
}

function headersOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries.map(([key, text]) => [key.toLowerCase(), text]));
}

/** Retry-After as seconds or as an HTTP date (RFC 9110), and the millisecond form some providers add. */
function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | null {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(exact)) return Math.max(0, Math.ceil(exact));
  const value = headers["retry-after"];
  if (value === undefined || value.trim() === "") return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000));
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

function toMessage(lead: string, text: string, secrets: readonly string[]): string {
  const detail = redact(text, secrets).replace(/\s+/g, " ").trim();
  const message = detail === "" ? lead : `${lead}: ${detail}`;
  return message.length <= MAX_MESSAGE
    ? message
    : `${message.slice(0, MAX_MESSAGE - 1).toWellFormed()}…`;
}

function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "[redacted]");
  return clean
    .replace(/\bbearer\s+\S+/gi, "[redacted]")
    .replace(/\b(?:sk|pk|rk|key|gsk|xai|hf|ghp|AIza)[-_][\w*.-]{6,}/gi, "[redacted]")
    .replace(/([?&][\w-]*(?:key|token|secret|sig)[\w-]*=)[^&\s]+/gi, "$1[redacted]")
    .replace(/:\/\/[^/\s@]+@/g, "://[redacted]@")
    .replace(/\b[A-Za-z0-9+/_-]{40,}={0,2}/g, "[redacted]");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
function nameOf(value: unknown): string {
  return isRecord(value) ? stringOf(value["name"]) : "";
}
function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
