/**
 * Env: the bindings and variables of a deployment, and their one parse into Config.
 *
 * Owns names and defaults of variables. A wrong value fails here, once, with what to set, instead of later inside a run.
 */
import { toModelConfig } from "#adapters/model/model-directory.ts";
import type { EgressRules } from "#shared/egress-address.ts";
import { AppError } from "#shared/errors.ts";

export interface Env {
  /** One object per thread. */
  readonly AGENT: DurableObjectNamespace;
  /** One object per memory scope. */
  readonly MEMORY: DurableObjectNamespace;
  /** One object per tenant's budgets. */
  readonly LEDGER: DurableObjectNamespace;
  /** Tenants, keys, agent versions, threads. */
  readonly DB: D1Database;
  /** Large payloads. */
  readonly BLOBS: R2Bucket;
  /** Clients, grants and tokens of OAuth; absent where MCP clients come with keys only. */
  readonly OAUTH_KV?: KVNamespace;
  /** Static files; absent in unit-test hosts. */
  readonly ASSETS?: Fetcher;
  /** Dynamic Workers for `run_code`; absent locally, where QuickJS runs it. */
  readonly LOADER?: WorkerLoader;
  /** Workers AI and AI Gateway; production only, because it needs an account. */
  readonly AI?: Ai;
  readonly HOLDFAST_MODEL?: string;
  readonly HOLDFAST_MODEL_BASE_URL?: string;
  readonly HOLDFAST_MODEL_API_KEY?: string;
  readonly HOLDFAST_SCRIPTED_PACE_MS?: string;
  readonly HOLDFAST_TOKEN_SECRET?: string;
  readonly HOLDFAST_SIGNING_KEY?: string;
  readonly HOLDFAST_RETIRED_KEYS?: string;
  readonly HOLDFAST_SANDBOX?: string;
  readonly HOLDFAST_HEARTBEAT_MS?: string;
  readonly HOLDFAST_ALLOWED_ORIGINS?: string;
  readonly HOLDFAST_EGRESS_LOOPBACK?: string;
  readonly HOLDFAST_REQUESTS_PER_MINUTE?: string;
  readonly HOLDFAST_RUNS_PER_MINUTE?: string;
}

export type SandboxChoice = "quickjs" | "dynamic-worker";

export interface Config {
  readonly defaultRoute: string;
  readonly tokenSecret: string | null;
  readonly sandbox: SandboxChoice;
  /** Longest time until an object whose process died wakes by itself and goes on with its run. */
  readonly heartbeatMs: number;
  /** Origins of pages that may open sockets, besides the Worker's own. */
  readonly allowedOrigins: readonly string[];
  /** Where addresses that callers name may be asked. */
  readonly egress: EgressRules;
  /** Of each principal, in each isolate. Null: unlimited. */
  readonly rates: {
    readonly requestsPerMinute: number | null;
    readonly runsPerMinute: number | null;
  };
}

const MIN_SECRET_CHARS = 32;
/** Below the 30 s dead-man alarm of the SDK, so that ours is the one that decides. */
const DEFAULT_HEARTBEAT_MS = 20_000;
const DEFAULT_REQUESTS_PER_MINUTE = 600;
const DEFAULT_RUNS_PER_MINUTE = 60;

export function parseEnv(env: Env): Config {
  checkUrl(env.HOLDFAST_MODEL_BASE_URL ?? "");
  const secret = env.HOLDFAST_TOKEN_SECRET ?? "";
  if (secret !== "" && secret.length < MIN_SECRET_CHARS) {
    throw invalid("HOLDFAST_TOKEN_SECRET", `must have at least ${MIN_SECRET_CHARS} characters`);
  }
  return {
    defaultRoute: toModelConfig(env, null).defaultRoute,
    tokenSecret: secret === "" ? null : secret,
    sandbox: parseSandbox(env),
    heartbeatMs: parseHeartbeat(env.HOLDFAST_HEARTBEAT_MS),
    allowedOrigins: parseOrigins(env.HOLDFAST_ALLOWED_ORIGINS ?? ""),
    egress: { loopback: parseSwitch(env, "HOLDFAST_EGRESS_LOOPBACK") },
    rates: {
      requestsPerMinute: parseRate(
        env,
        "HOLDFAST_REQUESTS_PER_MINUTE",
        DEFAULT_REQUESTS_PER_MINUTE,
      ),
      runsPerMinute: parseRate(env, "HOLDFAST_RUNS_PER_MINUTE", DEFAULT_RUNS_PER_MINUTE),
    },
  };
}

function checkUrl(text: string): void {
  if (text === "") return;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw invalid(
      "HOLDFAST_MODEL_BASE_URL",
      "must be an http or https URL such as http://127.0.0.1:11434/v1",
    );
  }
}

function parseSandbox(env: Env): SandboxChoice {
  const choice = env.HOLDFAST_SANDBOX ?? "quickjs";
  if (choice !== "quickjs" && choice !== "dynamic-worker") {
    throw invalid("HOLDFAST_SANDBOX", "must be quickjs or dynamic-worker");
  }
  if (choice === "dynamic-worker" && env.LOADER === undefined) {
    throw invalid(
      "HOLDFAST_SANDBOX",
      "is dynamic-worker, which needs the worker_loaders binding LOADER",
    );
  }
  return choice;
}

function parseHeartbeat(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_HEARTBEAT_MS;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 100 || value > 60_000) {
    throw invalid(
      "HOLDFAST_HEARTBEAT_MS",
      "must be a whole number of milliseconds from 100 to 60000",
    );
  }
  return value;
}

function parseSwitch(env: Env, variable: "HOLDFAST_EGRESS_LOOPBACK"): boolean {
  const text = env[variable] ?? "";
  if (text !== "" && text !== "0" && text !== "1") throw invalid(variable, "must be 1, 0 or empty");
  return text === "1";
}

function parseRate(
  env: Env,
  variable: "HOLDFAST_REQUESTS_PER_MINUTE" | "HOLDFAST_RUNS_PER_MINUTE",
  standard: number,
): number | null {
  const text = env[variable];
  if (text === undefined || text === "") return standard;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 1_000_000) {
    throw invalid(variable, "must be a whole number from 1 to 1000000, or 0 for no limit");
  }
  return value === 0 ? null : value;
}

/** Compared as a whole with what a browser sends, so a path or a trailing slash would never match. */
function parseOrigins(text: string): readonly string[] {
  const origins = text
    .split(",")
    .map((origin) => origin.trim())
    .filter((origin) => origin !== "");
  const wrong = origins.find(
    (origin) => !URL.canParse(origin) || new URL(origin).origin !== origin,
  );
  if (wrong !== undefined) {
    throw invalid(
      "HOLDFAST_ALLOWED_ORIGINS",
      "must be origins such as https://app.example.com, separated by commas",
    );
  }
  return origins;
}

function invalid(variable: string, problem: string): AppError {
  return new AppError("config_invalid", `${variable} ${problem}`, {
    kind: "faulted",
    detail: { variable },
  });
}
