/**
 * Requests with their attempts.
 *
 * P111 each request may be repeated: what writes carries an idempotency key, the same for every attempt. P114 a refusal
 * that may pass is asked again after `Retry-After`, an unreachable server with a growing pause, both a bounded number of
 * times; what would be refused again is thrown at once. P116 an abort ends a request and its pauses.
 */
import { HoldfastError, toError } from "./errors.ts";

export type FetchPort = (url: string, init: RequestInit) => Promise<Response>;
/** Resolves after so many ms; rejects with the signal's reason. */
export type WaitPort = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface RetryPolicy {
  /** Requests in all, the first included; of a stream, in a row without anything new. Default 5. */
  readonly attempts: number;
  /** Pause before the second; doubles up to `maxDelayMs`. Default 250 and 5,000, less up to a quarter by chance. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** A server that asks for a longer pause than this is not waited for. Default 60,000. */
  readonly maxRetryAfterMs: number;
}
const DEFAULT_RETRY: RetryPolicy = {
  attempts: 5,
  baseDelayMs: 250,
  maxDelayMs: 5_000,
  maxRetryAfterMs: 60_000,
};

export interface ClientOptions {
  /** Of the deployment, such as `https://agents.example.com`. A function is asked for each attempt. */
  readonly url: string | (() => string);
  /** API key or user token. A function is asked for each attempt: a token may have been renewed. */
  readonly key: string | (() => string | Promise<string>);
  readonly retry?: Partial<RetryPolicy>;
  /** An attempt whose answer does not begin within this counts as unreachable. Default 60,000. */
  readonly timeoutMs?: number;
  /** A stream that says nothing for so long is taken for dead (P113). Default 45,000: the server speaks every 15 s. */
  readonly stallMs?: number;
  readonly fetch?: FetchPort;
  readonly wait?: WaitPort;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}
export interface WriteOptions extends CallOptions {
  /** The same key again is the same request: choose one to repeat it in another process. Default: a new one. */
  readonly idempotencyKey?: string;
}
export interface Query {
  readonly [name: string]: string | number | undefined;
}

export interface Request extends WriteOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: Query;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly bytes?: Blob | Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A proxy before a server that is just starting again answers these, and 503. */
const AWAY: ReadonlySet<number> = new Set([502, 504]);

export class Http {
  readonly retry: RetryPolicy;
  readonly stallMs: number;
  readonly wait: WaitPort;
  readonly #timeoutMs: number;
  readonly #options: ClientOptions;
  readonly #fetch: FetchPort;

  constructor(options: ClientOptions) {
    this.retry = { ...DEFAULT_RETRY, ...options.retry };
    this.stallMs = options.stallMs ?? 45_000;
    this.wait = options.wait ?? waitFor;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#options = options;
    // Called as a method of something else, a browser's fetch is an illegal invocation.
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
  }

  async json<T>(path: string, request: Request = {}): Promise<T> {
    const response = await this.send(path, request);
    const text = await response.text();
    try {
      // Typed by the schemas that the server made it with.
      return JSON.parse(text) as T;
    } catch (cause) {
      const message = "The answer is not JSON. Is this the address of a Holdfast server?";
      throw new HoldfastError("invalid_response", message, { status: response.status, cause });
    }
  }

  /** The first answer that is a success; attempts in between are told to nobody. */
  async send(path: string, request: Request = {}): Promise<Response> {
    const init = toInit(request);
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.attempt(path, request, init);
      if ("response" in outcome) return outcome.response;
      if (attempt >= this.retry.attempts || outcome.pauseMs === null) throw outcome.error;
      await this.wait(outcome.pauseMs ?? this.pauseBefore(attempt), request.signal);
    }
  }

  /** One attempt. A failure says after what pause another makes sense: null for none, undefined for the policy's own. */
  async attempt(path: string, request: Request, init: RequestInit = toInit(request)) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#timeoutMs);
    const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
    let response: Response;
    try {
      const url = this.#urlOf(path, request.query);
      response = await this.#fetch(url, { ...(await this.#authorized(init)), signal });
    } catch (cause) {
      if (request.signal?.aborted === true) throw request.signal.reason;
      const message = "The server cannot be reached. Is it running?";
      const error = new HoldfastError("unreachable", message, { retryable: true, cause });
      return { error, pauseMs: undefined };
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return { response };
    const error = toError(response.status, await response.text().catch(() => ""));
    return { error, pauseMs: this.#pauseAfter(response, error) };
  }

  pauseBefore(attempt: number): number {
    const { baseDelayMs, maxDelayMs } = this.retry;
    const pause = Math.min(baseDelayMs * 2 ** (attempt - 1), maxDelayMs);
    return Math.round(pause * (1 - Math.random() / 4));
  }

  #pauseAfter(response: Response, error: HoldfastError): number | null | undefined {
    if (AWAY.has(response.status)) return undefined;
    if (response.status !== 429 && response.status !== 503) return null;
    // From a proxy: it says nothing of whether it passes.
    if (error.code !== "invalid_response" && !error.retryable) return null;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    if (!Number.isFinite(seconds) || seconds < 0) return undefined;
    return seconds * 1_000 > this.retry.maxRetryAfterMs ? null : seconds * 1_000;
  }

  #urlOf(path: string, query: Query = {}): string {
    const { url } = this.#options;
    const base = (typeof url === "function" ? url() : url).replace(/\/+$/, "");
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return `${base}/v1${path}${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
  }

  async #authorized(init: RequestInit): Promise<RequestInit> {
    const { key } = this.#options;
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${typeof key === "function" ? await key() : key}`);
    return { ...init, headers };
  }
}

function toInit(request: Request): RequestInit {
  const { method = "GET", json, bytes, signal } = request;
  const headers = new Headers(request.headers);
  if (method !== "GET")
    headers.set("idempotency-key", request.idempotencyKey ?? crypto.randomUUID());
  if (json !== undefined) headers.set("content-type", "application/json");
  else if (bytes !== undefined) headers.set("content-type", "application/octet-stream");
  const body = json === undefined ? bytes : JSON.stringify(json);
  return {
    method,
    headers,
    cache: "no-store",
    ...(body === undefined ? {} : { body: body as BodyInit }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function waitFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const left = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", left);
      resolve();
    }, ms);
    signal?.addEventListener("abort", left, { once: true });
  });
}
