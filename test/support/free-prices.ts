/** Every route costs nothing, and that is known: for tests that are about something else. */
import type { Prices } from "#ports/prices.ts";

const FREE = { version: "free", inputMicrosPerMillion: 0, outputMicrosPerMillion: 0 };

export const FREE_PRICES: Prices = { price: () => FREE };
/** Nobody knows what anything costs. */
export const NO_PRICES: Prices = { price: () => null };
