/** The shop over HTTP: what a Worker's tools ask, and how the test's process answers. */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { askDesk } from "../desk.ts";
import { ShopRefusal } from "./records.ts";
import { isRead, isWrite } from "./requests.ts";
import type { RetailShop } from "./shop.ts";
import type { ShopDesk } from "./tools.ts";

export function createHttpDesk(url: string): ShopDesk {
  return {
    read: (name, args) => askDesk(url, { name, args }),
    write: ({ name, key, args }) => askDesk(url, { name, args, key }),
    receipt: (key) => askDesk(url, { name: "receipt", key, args: {} }),
  };
}

/** One request of a desk: its name, its key, and what to do for it. */
export function serveDesk(body: JsonObject, shop: RetailShop) {
  const name = String(body["name"]);
  const key = typeof body["key"] === "string" ? body["key"] : null;
  const args = isJsonObject(body["args"]) ? body["args"] : {};
  const answer = (): Json => {
    if (key === null) return isRead(name) ? shop.read(name, args) : null;
    return isWrite(name) ? shop.write({ name, key, args }) : shop.receipt(key);
  };
  const work = (): Json => {
    try {
      return { value: answer() };
    } catch (error) {
      if (error instanceof ShopRefusal) return { refused: error.message };
      throw error;
    }
  };
  return { what: name, key, work };
}
