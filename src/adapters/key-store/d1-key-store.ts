/** KeyStore in D1 through drizzle; contract in #ports/key-store.ts. A failing D1 becomes AppError `unavailable`. */
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { SQL } from "drizzle-orm";
import type { KeyRecord, KeyStore } from "#ports/key-store.ts";
import type { TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { apiKeys } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";

export class D1KeyStore implements KeyStore {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  findByHash(hash: string): Promise<KeyRecord | null> {
    return this.#find(eq(apiKeys.hash, hash));
  }

  findById(id: string): Promise<KeyRecord | null> {
    return this.#find(eq(apiKeys.id, id));
  }

  async #find(where: SQL): Promise<KeyRecord | null> {
    const [row] = await this.#db
      .select()
      .from(apiKeys)
      .where(where)
      .limit(1)
      .catch((cause: unknown) => {
        throw toUnavailable(cause);
      });
    if (row === undefined) return null;
    const { hash: _hash, ...rest } = row;
    return {
      ...rest,
      tenant: trusted<TenantId>(row.tenant),
      scopes: row.scopes.split(" ").filter((scope) => scope !== ""),
    };
  }
}
