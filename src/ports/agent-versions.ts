/**
 * AgentVersions: agents that a tenant stored over the API, as immutable versions beside the agents of the code. In D1.
 *
 * Contract (suite: test/contracts/agent-versions.ts): a version is named by the hash of its manifest and never changes;
 * storing it again answers the first record. At most one version of an agent is promoted, and a retired one is not and
 * cannot be. Every read names a tenant.
 */
import type { AgentManifest, LoopLimits, RetryPolicy, RunLimits } from "#kernel/manifest.ts";
import type { AgentName, TenantId } from "#shared/ids.ts";
import type { Result } from "#shared/result.ts";
import type { ModelSettings } from "./model.ts";

export interface AgentVersion {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  /** SHA-256 of the canonical manifest. */
  readonly definition: string;
  readonly manifest: AgentManifest;
  readonly createdAt: number;
  /** Principal id. */
  readonly createdBy: string;
  /** Since when new runs begin with it; null for all but one. */
  readonly promotedAt: number | null;
  readonly retiredAt: number | null;
}
export type NewAgentVersion = Omit<AgentVersion, "promotedAt" | "retiredAt">;
export type VersionKey = Pick<AgentVersion, "tenant" | "agent" | "definition">;
export type AgentKey = Pick<AgentVersion, "tenant" | "agent">;
/** A version's place in the order newest first. */
export type VersionPosition = Pick<AgentVersion, "createdAt" | "definition">;

export interface AgentVersions {
  store(version: NewAgentVersion): Promise<AgentVersion>;
  get(key: VersionKey): Promise<AgentVersion | null>;
  promoted(key: AgentKey): Promise<AgentVersion | null>;
  /** The promoted versions of a tenant, by name. */
  listPromoted(tenant: TenantId, limit: number): Promise<readonly AgentVersion[]>;
  /** Newest first. */
  list(
    query: AgentKey & { readonly after: VersionPosition | null; readonly limit: number },
  ): Promise<readonly AgentVersion[]>;
  /** In the place of the one promoted before. Changes nothing where the version is retired or unknown. */
  promote(key: VersionKey, at: number): Promise<void>;
  /** For good. Changes nothing where it is retired. */
  retire(key: VersionKey, at: number): Promise<void>;
}

/**
 * Which version an agent's new runs begin with, remembered so that requests do not wait for D1. Promoting and retiring
 * take effect within 60 s (P45).
 */
export interface PromotedAgents {
  /** Throws AppError `unavailable` when D1 cannot be read: it fails closed. */
  get(key: AgentKey): Promise<AgentVersion | null>;
  /** After a change that this isolate made itself. */
  forget(key: AgentKey): void;
}

type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** As in an agent's file. */
export type StoredSchedule = {
  readonly text: string;
  readonly overlap?: "skip" | "queue" | undefined;
} & ({ readonly everySeconds: number } | { readonly cron: string; readonly timeZone: string });

/** An agent as data. What is absent has the defaults of agents in files. */
export interface StoredAgentSpec {
  readonly name: AgentName;
  readonly description: string;
  readonly instructions: string;
  readonly route?: string | undefined;
  readonly fallbacks?: readonly string[] | undefined;
  readonly settings?: Given<ModelSettings> | undefined;
  readonly contextTokens?: number | undefined;
  readonly limits?: Given<RunLimits> | undefined;
  readonly retry?: Given<RetryPolicy> | undefined;
  readonly loop?: Given<LoopLimits> | undefined;
  readonly maxRepairs?: number | undefined;
  /** What it does by itself, in each tenant's thread `main`, by name. */
  readonly schedules?: { readonly [name: string]: StoredSchedule } | undefined;
  /** Names of registered tools. */
  readonly tools: readonly string[];
  /** Of these tools each call needs a person. It only tightens: what a tool itself demands stays. */
  readonly approvals?: { readonly [tool: string]: "always" } | undefined;
}
export interface SpecIssue {
  readonly path: string;
  readonly message: string;
}
export interface BuiltAgent {
  readonly manifest: AgentManifest;
  readonly definition: string;
  readonly bytes: number;
}
/** Makes manifests of the tools that this deployment has. */
export interface AgentBuilder {
  build(spec: StoredAgentSpec): Result<BuiltAgent, readonly SpecIssue[]>;
  /** Why new runs cannot begin with it in this deployment; empty when they can. */
  check(version: Pick<AgentVersion, "manifest" | "definition">): readonly SpecIssue[];
}
