/** Whether new runs may begin at an agent: one of the code, or one that the caller's tenant has promoted a version of. */
import type { AgentVersion, PromotedAgents } from "#ports/agent-versions.ts";
import type { AgentName, TenantId } from "#shared/ids.ts";

type AgentManifest = AgentVersion["manifest"];

export interface KnownAgents {
  /** Those of the code, whose names nobody takes (P48). */
  readonly agents: readonly { readonly manifest: AgentManifest }[];
  readonly promoted: PromotedAgents;
}

/** What new runs begin with; null for `agent_unknown`. */
export async function findAgent(
  { agents, promoted }: KnownAgents,
  { tenant, agent }: { readonly tenant: TenantId; readonly agent: AgentName },
): Promise<AgentManifest | null> {
  const own = agents.find(({ manifest }) => manifest.name === agent);
  return own?.manifest ?? (await promoted.get({ tenant, agent }))?.manifest ?? null;
}
