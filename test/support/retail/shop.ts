/**
 * RetailShop: the shop of tau2-bench as a system outside of the runtime. It survives every crash, counts each change that
 * it is asked for and each that it makes, and keeps a receipt under the key of each change that it made.
 *
 * Only what a shop promises is deduplicated by key (`KEYED`). A second request of any other change is taken for a second
 * change; whether the first one happened must be asked, by its key.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type Json, type JsonObject } from "#shared/json.ts";
import {
  cancelOrder,
  exchangeItems,
  modifyAddress,
  modifyItems,
  modifyPayment,
  returnItems,
  type OrderBooks,
  type OrderChange,
} from "./orders.ts";
import { ShopRefusal, type Order, type ShopData, type User } from "./records.ts";
import { BOOKINGS, KEYED, READS, type ReadName, type WriteName } from "./requests.ts";

export interface WriteRequest {
  readonly name: WriteName;
  readonly key: string;
  readonly args: JsonObject;
}

export class RetailShop {
  /** Each request to change something, in order of arrival, refused and repeated ones included. */
  readonly requests: WriteRequest[] = [];
  /** Each change that was made, in order: more than one under a key is an effect that happened twice. */
  readonly changes: WriteRequest[] = [];
  readonly checks: string[] = [];
  readonly #receipts = new Map<string, Json>();
  readonly #data: ShopData;
  readonly #orders = new Map<string, Order>();
  readonly #users = new Map<string, User>();
  readonly #tickets: string[] = [];

  /** `data` is shared and never changed. */
  constructor(data: ShopData) {
    this.#data = data;
  }

  /** Throws ShopRefusal, as `write` does. */
  read(name: ReadName, args: JsonObject): Json {
    return toJson(this.#read(name, args));
  }

  write(request: WriteRequest): Json {
    const { name, key, args } = request;
    this.requests.push(request);
    const known = this.#receipts.get(key);
    if (known !== undefined && Object.hasOwn(KEYED, name)) return known;
    const receipt = toJson(this.#change(name, args));
    this.changes.push(request);
    this.#receipts.set(key, receipt);
    return receipt;
  }

  /** Null when nothing was changed under this key; what was refused did not happen. */
  receipt(key: string): Json {
    this.checks.push(key);
    return this.#receipts.get(key) ?? null;
  }

  /** SHA-256 of everything that the shop holds: the data file, and what is different now. */
  digest(): string {
    const { orders, users } = this.#data;
    const now = {
      orders: changedOf(this.#orders, orders),
      users: changedOf(this.#users, users),
      tickets: this.#tickets,
    };
    return sha256(`${digestOf(this.#data)}\n${canonicalJson(toJson(now))}`);
  }

  #read(name: ReadName, args: JsonObject): unknown {
    switch (name) {
      case "get_order_details":
        return this.#order(READS[name].parse(args).order_id);
      case "get_user_details":
        return this.#user(READS[name].parse(args).user_id);
      case "get_product_details": {
        const { product_id } = READS[name].parse(args);
        return found(this.#data.products[product_id], `product ${product_id}`);
      }
      case "get_item_details": {
        const { item_id } = READS[name].parse(args);
        const products = Object.values(this.#data.products);
        const variant = products.find(({ variants }) => variants[item_id])?.variants[item_id];
        return found(variant, `item ${item_id}`);
      }
      case "find_user_id_by_email": {
        const wanted = READS[name].parse(args);
        return this.#find(({ email }) => email === wanted.email);
      }
      case "find_user_id_by_name_zip": {
        const { zip, ...wanted } = READS[name].parse(args);
        return this.#find(
          (user) =>
            user.address.zip === zip &&
            user.name.first_name === wanted.first_name &&
            user.name.last_name === wanted.last_name,
        );
      }
    }
  }

  #change(name: WriteName, args: JsonObject): unknown {
    switch (name) {
      case "cancel_pending_order": {
        const { order_id, reason } = BOOKINGS[name].parse(args);
        return this.#book(order_id, (books) => cancelOrder(books, reason));
      }
      case "return_delivered_order_items": {
        const { order_id, item_ids, payment_method_id } = BOOKINGS[name].parse(args);
        return this.#book(order_id, (books) => returnItems(books, item_ids, payment_method_id));
      }
      case "exchange_delivered_order_items":
        return this.#swap(BOOKINGS[name].parse(args), exchangeItems);
      case "modify_pending_order_items":
        return this.#swap(BOOKINGS[name].parse(args), modifyItems);
      case "modify_pending_order_payment": {
        const { order_id, payment_method_id } = BOOKINGS[name].parse(args);
        return this.#book(order_id, (books) => modifyPayment(books, payment_method_id));
      }
      case "modify_pending_order_address": {
        const { order_id, ...address } = KEYED[name].parse(args);
        return this.#book(order_id, (books) => modifyAddress(books, address));
      }
      case "modify_user_address": {
        const { user_id, ...address } = KEYED[name].parse(args);
        const user = { ...this.#user(user_id), address };
        this.#users.set(user_id, user);
        return user;
      }
      case "transfer_to_human_agents":
        this.#tickets.push(KEYED[name].parse(args).summary);
        return "A person takes over.";
    }
  }

  #swap(
    args: (typeof BOOKINGS)["modify_pending_order_items"]["_zod"]["output"],
    change: typeof modifyItems,
  ): Order {
    const { order_id, item_ids, new_item_ids, payment_method_id } = args;
    const swap = {
      itemIds: item_ids,
      newItemIds: new_item_ids,
      paymentMethodId: payment_method_id,
    };
    return this.#book(order_id, (books) => change(books, swap));
  }

  #book(orderId: string, change: (books: OrderBooks) => OrderChange): Order {
    const order = this.#order(orderId);
    const { products } = this.#data;
    const changed = change({ order, user: this.#user(order.user_id), products });
    this.#orders.set(orderId, changed.order);
    this.#users.set(changed.user.user_id, changed.user);
    return changed.order;
  }

  #order(id: string): Order {
    return found(this.#orders.get(id) ?? this.#data.orders[id], `order ${id}`);
  }
  #user(id: string): User {
    return found(this.#users.get(id) ?? this.#data.users[id], `user ${id}`);
  }
  #find(matches: (user: User) => boolean): string {
    const ids = Object.keys(this.#data.users);
    return found(
      ids.find((id) => matches(this.#user(id))),
      "user",
    );
  }
}

const DIGESTS = new WeakMap<ShopData, string>();

function digestOf(data: ShopData): string {
  const digest = DIGESTS.get(data) ?? sha256(canonicalJson(toJson(data)));
  DIGESTS.set(data, digest);
  return digest;
}

/** A record changed back to what it was is as if it had never been changed. */
function changedOf(now: ReadonlyMap<string, unknown>, before: { readonly [id: string]: unknown }) {
  const entries = [...now].filter(
    ([id, value]) => canonicalJson(toJson(value)) !== canonicalJson(toJson(before[id])),
  );
  return Object.fromEntries(entries);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Records come from JSON and stay JSON; only their types do not say so. */
function toJson(value: unknown): Json {
  return value as Json;
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new ShopRefusal(`there is no ${what}`);
  return value;
}
