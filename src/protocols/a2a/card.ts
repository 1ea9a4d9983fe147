/**
 * Agent cards: what an agent is, where it is spoken to and how a caller proves who it is, signed with the keys that sign
 * chain heads (H4).
 *
 * P96 a card is signed over its RFC 8785 form without the signatures (RFC 7515, Ed25519); the header names the key and where its
 * public half is published. The extended card, which names the agent's tools, needs credentials.
 */
import type { AgentManifest } from "#kernel/manifest.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Signer } from "#ports/signing.ts";
import { toBase64Url } from "#shared/base64.ts";
import { canonicalJson, utf8, type JsonObject } from "#shared/json.ts";
import { A2A_VERSION, JSON_TYPE, TEXT_TYPE } from "./wire.ts";

export interface CardDeps {
  /** Null: this deployment signs nothing. */
  readonly signer: Signer | null;
  readonly hasher: Hasher;
}
export interface CardOf {
  readonly manifest: AgentManifest;
  readonly origin: string;
  readonly extended: boolean;
}

const BEARER = "bearer";
/** Scopes without which nothing can be asked. Never empty: an empty message has no one canonical form. */
const NEEDED = ["threads:read", "threads:write"];
/** Characters of a digest that name a version. */
const VERSION_LENGTH = 12;

export async function signedCard(deps: CardDeps, of: CardOf): Promise<JsonObject> {
  const card = toCard(deps, of);
  if (deps.signer === null) return card;
  const header = {
    alg: "Ed25519",
    typ: "JOSE",
    kid: deps.signer.keyId,
    jku: `${of.origin}/.well-known/jwks.json`,
  };
  const protectedHeader = toBase64Url(utf8(JSON.stringify(header)));
  const payload = toBase64Url(utf8(canonicalJson(card)));
  const signature = await deps.signer.sign(utf8(`${protectedHeader}.${payload}`));
  return { ...card, signatures: [{ protected: protectedHeader, signature }] };
}

/** Holds no field with a default value that is not required, so that it is its own canonical form. */
function toCard({ hasher }: CardDeps, { manifest, origin, extended }: CardOf): JsonObject {
  const { name, description } = manifest;
  const url = `${origin}/a2a/${name}`;
  const version = hasher.sha256(utf8(canonicalJson(manifest as unknown as JsonObject)));
  return {
    name,
    description,
    version: version.slice(0, VERSION_LENGTH),
    supportedInterfaces: ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: A2A_VERSION,
    })),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    securitySchemes: {
      [BEARER]: {
        httpAuthSecurityScheme: {
          scheme: "Bearer",
          description: "A key of this service, or a token that a key minted for a user.",
        },
      },
    },
    securityRequirements: [{ schemes: { [BEARER]: { list: NEEDED } } }],
    // Files of any type go into the workspace.
    defaultInputModes: [TEXT_TYPE, JSON_TYPE, "*/*"],
    defaultOutputModes: [TEXT_TYPE, JSON_TYPE],
    skills: [
      { id: name, name, description, tags: ["agent"] },
      ...(extended ? manifest.tools.map(toSkill) : []),
    ],
  };
}

function toSkill({ name, description, effect, approval }: AgentManifest["tools"][number]) {
  const tags = ["tool", effect, ...(approval === "never" ? [] : ["asks-a-person"])];
  return { id: `tool:${name}`, name, description, tags };
}
