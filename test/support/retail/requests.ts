/** What can be asked of the shop: arguments by function, shared by the tools and by the shop itself. */
import { z } from "zod";

const orderId = z.string().describe("Such as #W0000000.");
const ids = z.array(z.string());
const address = {
  address1: z.string(),
  address2: z.string(),
  city: z.string(),
  state: z.string(),
  country: z.string(),
  zip: z.string(),
};
const swap = z.object({
  order_id: orderId,
  item_ids: ids,
  new_item_ids: ids,
  payment_method_id: z.string(),
});

export const READS = {
  find_user_id_by_email: z.object({ email: z.string() }),
  find_user_id_by_name_zip: z.object({
    first_name: z.string(),
    last_name: z.string(),
    zip: z.string(),
  }),
  get_user_details: z.object({ user_id: z.string() }),
  get_order_details: z.object({ order_id: orderId }),
  get_product_details: z.object({ product_id: z.string() }),
  get_item_details: z.object({ item_id: z.string() }),
};
/** Changes of orders: the shop takes a second request for a second change. */
export const BOOKINGS = {
  cancel_pending_order: z.object({ order_id: orderId, reason: z.string() }),
  return_delivered_order_items: z.object({
    order_id: orderId,
    item_ids: ids,
    payment_method_id: z.string(),
  }),
  exchange_delivered_order_items: swap,
  modify_pending_order_items: swap,
  modify_pending_order_payment: z.object({ order_id: orderId, payment_method_id: z.string() }),
};
/** Changes that the shop makes once for each key. */
export const KEYED = {
  modify_pending_order_address: z.object({ order_id: orderId, ...address }),
  modify_user_address: z.object({ user_id: z.string(), ...address }),
  transfer_to_human_agents: z.object({ summary: z.string() }),
};

export type ReadName = keyof typeof READS;
export type WriteName = keyof typeof BOOKINGS | keyof typeof KEYED;

export function isRead(name: string): name is ReadName {
  return Object.hasOwn(READS, name);
}
export function isWrite(name: string): name is WriteName {
  return Object.hasOwn(BOOKINGS, name) || Object.hasOwn(KEYED, name);
}
