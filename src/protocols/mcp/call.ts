/** One request of an MCP client: who asks, of which agent, and what it can be asked back. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/server";
import type { Principal } from "#auth/principal.ts";
import { toCaller } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import type { AgentExports } from "#ports/agent-exports.ts";
import type { Directory } from "#ports/directory.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import type { ThreadStub } from "#ports/thread-gateway.ts";
import { trusted, type AgentName, type ThreadId } from "#shared/ids.ts";
import { isJsonObject, utf8, type Json } from "#shared/json.ts";

/** What a client declared: of its own request (2026-07-28), or when its session began. */
export interface ClientAbilities {
  readonly elicitation: boolean;
  readonly sampling: boolean;
  readonly roots: boolean;
  readonly tasks: boolean;
}
export const NO_ABILITIES: ClientAbilities = {
  elicitation: false,
  sampling: false,
  roots: false,
  tasks: false,
};
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** A client of the older revisions, whose requests belong to a session. */
export interface OlderClient {
  /** Null where this deployment has no secret to sign sessions with. */
  readonly session: string | null;
  readonly abilities: ClientAbilities;
  /** The call at hand asked to be a task (revision 2025-11-25). */
  readonly asTask: boolean;
  /** Puts a request of ours on the stream of the call that is being answered. */
  readonly ask: (request: ServerRequest) => Promise<void>;
  /** Where in the thread's log the stream of the call at hand is, for `Last-Event-ID`. */
  readonly position: StreamPosition;
}
export interface ServerRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Json;
}
export interface StreamPosition {
  /** The exported tool that is called; null for a run of the conversation. */
  tool: string | null;
  /** Null for a call that asked for no progress. */
  progressToken: string | number | null;
  thread: string | null;
  message: string | null;
  seq: number;
}

export interface McpCall {
  readonly threads: ThreadAccess;
  readonly directory: Directory;
  readonly ids: Ids;
  readonly hasher: Hasher;
  readonly agent: AgentName;
  readonly exports: AgentExports;
  readonly principal: Principal;
  readonly limits: RateLimits;
  /** Null for clients of revision 2026-07-28. */
  readonly older: OlderClient | null;
}

export function abilitiesOf({ older }: McpCall, { mcpReq }: ServerContext): ClientAbilities {
  if (older !== null) return older.abilities;
  const envelope: unknown = mcpReq.envelope;
  return toAbilities(isJsonObject(envelope) ? envelope[CLIENT_CAPABILITIES_META_KEY] : null);
}

export function toAbilities(declared: unknown): ClientAbilities {
  if (!isJsonObject(declared)) return NO_ABILITIES;
  const { elicitation, sampling, roots, extensions } = declared;
  return {
    elicitation: isJsonObject(elicitation),
    sampling: isJsonObject(sampling),
    roots: isJsonObject(roots),
    tasks: isJsonObject(extensions) && TASKS_EXTENSION in extensions,
  };
}

/**
 * Ids of the message that a call sends, and of the thread that it begins. Those of an older client follow from its session
 * and request, so that a cancellation, which comes by a request of its own, finds them.
 */
export function idsOf(
  { ids, hasher, older }: McpCall,
  requestId: string | number,
): { readonly thread: string; readonly message: string } {
  if (older === null || older.session === null)
    return { thread: ids.next("thr"), message: ids.next("msg") };
  const digest = hasher.sha256(utf8(JSON.stringify([older.session, requestId]))).slice(0, 40);
  return { thread: `mcp_${digest}`, message: `mcp_${digest}` };
}

export function stubOf(
  { threads, principal, agent }: Pick<McpCall, "threads" | "principal" | "agent">,
  thread: string,
): ThreadStub {
  return threads.stub(toCaller(principal), { agent, thread: trusted<ThreadId>(thread) });
}
