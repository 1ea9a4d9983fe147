/**
 * What each change of an order means: from the records as they are to the records as they become, or a ShopRefusal.
 * Pure, so that a gold plan can also be applied without a runtime.
 */
import {
  ShopRefusal,
  toCents,
  type Address,
  type Order,
  type OrderItem,
  type Payment,
  type PaymentMethod,
  type Product,
  type User,
} from "./records.ts";

export interface OrderBooks {
  readonly order: Order;
  readonly user: User;
  readonly products: { readonly [id: string]: Product };
}
export interface OrderChange {
  readonly order: Order;
  readonly user: User;
}

const CANCEL_REASONS: ReadonlySet<string> = new Set(["no longer needed", "ordered by mistake"]);

export function cancelOrder({ order, user }: OrderBooks, reason: string): OrderChange {
  mustBe(order, "pending");
  if (!CANCEL_REASONS.has(reason)) throw new ShopRefusal(`${reason} is no reason to cancel`);
  const refunds = order.payment_history.map((paid): Payment => ({
    ...paid,
    transaction_type: "refund",
  }));
  return {
    order: {
      ...order,
      status: "cancelled",
      cancel_reason: reason,
      payment_history: [...order.payment_history, ...refunds],
    },
    user: refunds.reduce(
      (owner, { payment_method_id, amount }) => credit(owner, payment_method_id, amount),
      user,
    ),
  };
}

export function returnItems(
  { order, user }: OrderBooks,
  itemIds: readonly string[],
  paymentMethodId: string,
): OrderChange {
  mustBe(order, "delivered");
  const { source } = methodOf(user, paymentMethodId);
  const isOriginal = order.payment_history[0]?.payment_method_id === paymentMethodId;
  if (!isOriginal && source !== "gift_card")
    throw new ShopRefusal("a refund goes to the original payment method or to a gift card");
  take(order.items, itemIds);
  return {
    order: {
      ...order,
      status: "return requested",
      return_items: itemIds.toSorted(),
      return_payment_method_id: paymentMethodId,
    },
    user,
  };
}

export interface Swap {
  readonly itemIds: readonly string[];
  readonly newItemIds: readonly string[];
  readonly paymentMethodId: string;
}

/** Money moves when the old items are back, so only the difference is written down. */
export function exchangeItems(books: OrderBooks, swap: Swap): OrderChange {
  const { order, user } = books;
  mustBe(order, "delivered");
  const { difference } = priceSwap(books, swap);
  assertCovered(methodOf(user, swap.paymentMethodId), difference);
  return {
    order: {
      ...order,
      status: "exchange requested",
      exchange_items: swap.itemIds.toSorted(),
      exchange_new_items: swap.newItemIds.toSorted(),
      exchange_payment_method_id: swap.paymentMethodId,
      exchange_price_difference: difference,
    },
    user,
  };
}

export function modifyItems(books: OrderBooks, swap: Swap): OrderChange {
  const { order, user } = books;
  mustBe(order, "pending");
  const { difference, items } = priceSwap(books, swap);
  assertCovered(methodOf(user, swap.paymentMethodId), difference);
  const payment: Payment = {
    transaction_type: difference > 0 ? "payment" : "refund",
    amount: Math.abs(difference),
    payment_method_id: swap.paymentMethodId,
  };
  return {
    order: {
      ...order,
      status: "pending (items modified)",
      items,
      payment_history: [...order.payment_history, ...(difference === 0 ? [] : [payment])],
    },
    user: credit(user, swap.paymentMethodId, -difference),
  };
}

export function modifyPayment({ order, user }: OrderBooks, paymentMethodId: string): OrderChange {
  mustBe(order, "pending");
  const [paid, ...more] = order.payment_history;
  if (paid === undefined || more.length > 0)
    throw new ShopRefusal("only an order with one payment can be paid in another way");
  if (paid.payment_method_id === paymentMethodId)
    throw new ShopRefusal("it is paid with this method already");
  assertCovered(methodOf(user, paymentMethodId), paid.amount);
  const moved: readonly Payment[] = [
    { ...paid, payment_method_id: paymentMethodId },
    { ...paid, transaction_type: "refund" },
  ];
  const charged = credit(user, paymentMethodId, -paid.amount);
  return {
    order: { ...order, payment_history: [paid, ...moved] },
    user: credit(charged, paid.payment_method_id, paid.amount),
  };
}

export function modifyAddress({ order, user }: OrderBooks, address: Address): OrderChange {
  if (!order.status.startsWith("pending")) mustBe(order, "pending");
  return { order: { ...order, address }, user };
}

function mustBe({ order_id, status }: Order, wanted: string): void {
  if (status !== wanted) throw new ShopRefusal(`order ${order_id} is ${status}, not ${wanted}`);
}

function methodOf(user: User, id: string): PaymentMethod {
  const method = user.payment_methods[id];
  if (method === undefined) throw new ShopRefusal(`${user.user_id} has no payment method ${id}`);
  return method;
}

function assertCovered({ id, balance }: PaymentMethod, amount: number): void {
  if (balance !== undefined && balance < amount) throw new ShopRefusal(`${id} holds too little`);
}

/** Gift cards are booked at once; cards and PayPal are the bank's business. */
function credit(user: User, methodId: string, amount: number): User {
  const method = methodOf(user, methodId);
  if (method.balance === undefined) return user;
  const booked = { ...method, balance: toCents(method.balance + amount) };
  return { ...user, payment_methods: { ...user.payment_methods, [methodId]: booked } };
}

/** One item of the order for each id; an id may stand twice when the order holds the item twice. */
function take(items: readonly OrderItem[], ids: readonly string[]): readonly number[] {
  const taken: number[] = [];
  for (const id of ids) {
    const at = items.findIndex(({ item_id }, index) => item_id === id && !taken.includes(index));
    if (at === -1) throw new ShopRefusal(`item ${id} is not in the order as often as asked`);
    taken.push(at);
  }
  return taken;
}

function priceSwap({ order, products }: OrderBooks, { itemIds, newItemIds }: Swap) {
  if (itemIds.length !== newItemIds.length)
    throw new ShopRefusal("there must be one new item for each old one");
  const items = [...order.items];
  let difference = 0;
  for (const [index, at] of take(order.items, itemIds).entries()) {
    const old = order.items[at];
    const variant = products[old?.product_id ?? ""]?.variants[newItemIds[index] ?? ""];
    if (old === undefined || variant?.available !== true)
      throw new ShopRefusal(`item ${newItemIds[index]} is no available variant of this product`);
    const { item_id, price, options } = variant;
    items[at] = { ...old, item_id, price, options };
    difference += price - old.price;
  }
  return { items, difference: toCents(difference) };
}
