/**
 * Authority: whether a socket's credential still holds, asked of the key store itself.
 *
 * P37 asked at most once a minute and key, and only when something is about to be said or heard: nothing is due on an idle
 * socket, so nothing keeps its object awake (P35). Who cannot be asked about is let go, to come back later (Z1).
 */
import type { KeyRecord, KeyStore } from "#ports/key-store.ts";
import type { Connection } from "./connection.ts";
import { judgeStanding, type StandingLost } from "./standing.ts";

export const ASSURED_FOR_MS = 60_000;
const POLICY_VIOLATION = 1008;
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;

export interface AuthorityDeps {
  readonly keys: Pick<KeyStore, "findById">;
  readonly now: () => number;
  /** Tells the operator. */
  readonly failed: (error: unknown) => void;
}
interface Read {
  readonly at: number;
  readonly key: Promise<KeyRecord | null>;
}

export class Authority {
  readonly #deps: AuthorityDeps;
  readonly #reads = new Map<string, Read>();

  constructor(deps: AuthorityDeps) {
    this.#deps = deps;
  }

  isDue({ assuredAt, credential }: Connection): boolean {
    const now = this.#deps.now();
    const { expiresAt } = credential;
    return now - assuredAt >= ASSURED_FOR_MS || (expiresAt !== null && expiresAt <= now);
  }

  /** False when the socket was closed for it. */
  async assure(connection: Connection): Promise<boolean> {
    if (!this.isDue(connection)) return true;
    const { caller, credential } = connection;
    try {
      const { at, key } = this.#read(credential.keyId);
      const standing = judgeStanding(caller, credential, { key: await key, now: this.#deps.now() });
      if (!standing.ok) return this.#close(connection, standing.error);
      connection.assure(standing.value, at);
      return true;
    } catch (error) {
      this.#reads.delete(credential.keyId);
      this.#deps.failed(error);
      connection.close(TRY_AGAIN_LATER, "come back later");
      return false;
    }
  }

  #read(keyId: string): Read {
    const at = this.#deps.now();
    const known = this.#reads.get(keyId);
    if (known !== undefined && at - known.at < ASSURED_FOR_MS) return known;
    for (const [id, read] of this.#reads)
      if (at - read.at >= ASSURED_FOR_MS) this.#reads.delete(id);
    const read = { at, key: this.#deps.keys.findById(keyId) };
    this.#reads.set(keyId, read);
    return read;
  }

  /** Published clients come back after the one code, with a new ticket, and not after the other. */
  #close(connection: Connection, lost: StandingLost): false {
    if (lost === "revoked") connection.close(POLICY_VIOLATION, "the key or token was revoked");
    else connection.close(SERVICE_RESTART, "come back with a new ticket");
    return false;
  }
}
