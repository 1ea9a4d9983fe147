/**
 * The shop's functions as tools, each with the effect that a crash between doing and recording asks for.
 *
 * Changes of orders are `reconcile`: the shop takes a second request for a second change, but has a receipt by key of what
 * it did. Addresses and tickets are `idempotent`: the shop makes them once for each key. The rest is `read`.
 */
import { z } from "zod";
import { defineTool, type ToolSpec } from "#authoring/define-tool.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { calculate } from "./calculate.ts";
import { BOOKINGS, KEYED, READS, type ReadName, type WriteName } from "./requests.ts";
import type { WriteRequest } from "./shop.ts";

/** The shop as a client sees it, in the same process or over a wire. */
export interface ShopDesk {
  read(name: ReadName, args: JsonObject): Promise<Json> | Json;
  write(request: WriteRequest): Promise<Json> | Json;
  receipt(key: string): Promise<Json> | Json;
}

export interface RetailOptions {
  /** How changes of orders recover: `once` for a shop that cannot be asked, `idempotent` for a claim that is not true. */
  readonly bookings?: "reconcile" | "once" | "idempotent";
}

type Input = z.ZodObject;

export function retailTools(desk: ShopDesk, options: RetailOptions = {}): readonly Tool[] {
  const writing = (name: WriteName, input: Input): Omit<ToolSpec<Input>, "effect" | "check"> => ({
    ...about(name, input),
    execute: (args, { idempotencyKey: key }) =>
      Promise.resolve(desk.write({ name, key, args: args as JsonObject })),
  });
  const { bookings = "reconcile" } = options;
  return [
    ...entriesOf(READS).map(([name, input]) =>
      defineTool({
        ...about(name, input),
        effect: "read",
        execute: (args) => Promise.resolve(desk.read(name, args as JsonObject)),
      }),
    ),
    defineTool({
      ...about("calculate", z.object({ expression: z.string() })),
      effect: "read",
      execute: ({ expression }) => calculate(String(expression)),
    }),
    ...entriesOf(KEYED).map(([name, input]) =>
      defineTool({ ...writing(name, input), effect: "idempotent" }),
    ),
    ...entriesOf(BOOKINGS).map(([name, input]) =>
      bookings !== "reconcile"
        ? defineTool({ ...writing(name, input), effect: bookings })
        : defineTool({
            ...writing(name, input),
            effect: "reconcile",
            async check(key) {
              const result = await desk.receipt(key);
              return result === null ? { happened: false } : { happened: true, result };
            },
          }),
    ),
  ];
}

function about(name: string, input: Input) {
  return { name, description: `The shop's ${name.replaceAll("_", " ")}.`, version: "1", input };
}

function entriesOf<K extends string>(inputs: Readonly<Record<K, Input>>): readonly [K, Input][] {
  return Object.entries(inputs) as [K, Input][];
}
