/** What the retail shop of tau2-bench keeps: the shape of its data file, and why the shop says no. */
import { AppError } from "#shared/errors.ts";

export interface Address {
  readonly address1: string;
  readonly address2: string;
  readonly city: string;
  readonly state: string;
  readonly country: string;
  readonly zip: string;
}
export interface PaymentMethod {
  readonly id: string;
  readonly source: "credit_card" | "paypal" | "gift_card";
  /** Of a gift card. */
  readonly balance?: number;
}
export interface User {
  readonly user_id: string;
  readonly name: { readonly first_name: string; readonly last_name: string };
  readonly email: string;
  readonly address: Address;
  readonly payment_methods: { readonly [id: string]: PaymentMethod };
  readonly orders: readonly string[];
}
export interface Variant {
  readonly item_id: string;
  readonly options: { readonly [name: string]: string };
  readonly available: boolean;
  readonly price: number;
}
export interface Product {
  readonly name: string;
  readonly product_id: string;
  readonly variants: { readonly [itemId: string]: Variant };
}
export interface OrderItem {
  readonly name: string;
  readonly product_id: string;
  readonly item_id: string;
  readonly price: number;
  readonly options: { readonly [name: string]: string };
}
export interface Payment {
  readonly transaction_type: "payment" | "refund";
  readonly amount: number;
  readonly payment_method_id: string;
}
export interface Order {
  readonly order_id: string;
  readonly user_id: string;
  readonly address: Address;
  readonly items: readonly OrderItem[];
  readonly status: string;
  readonly payment_history: readonly Payment[];
  readonly cancel_reason?: string;
  readonly return_items?: readonly string[];
  readonly return_payment_method_id?: string;
  readonly exchange_items?: readonly string[];
  readonly exchange_new_items?: readonly string[];
  readonly exchange_payment_method_id?: string;
  readonly exchange_price_difference?: number;
}
export interface ShopData {
  readonly users: { readonly [id: string]: User };
  readonly orders: { readonly [id: string]: Order };
  readonly products: { readonly [id: string]: Product };
}

/** The shop's own no: nothing has changed, and asking again gets the same. */
export class ShopRefusal extends AppError {
  constructor(reason: string) {
    super("tool_failed", reason);
  }
}

export function toCents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
