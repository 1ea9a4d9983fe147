/**
 * The deployment's price table: prices.json, parsed once, by route. What it does not hold is unknown, never guessed.
 *
 * Keys are model ids as the AI binding takes them (`@cf/vendor/model`, `vendor/model`); model-directory.ts has the forms
 * of routes. `embedded/*` costs nothing, and neither does a server on this machine. Prices come from public pages only:
 * each entry names its page and the day it was read, and docs/prices.md says how to bring them up to date.
 */
import type { Prices, RoutePrice } from "#ports/prices.ts";
import { invariant } from "#shared/exhaustive.ts";
import TABLE from "./prices.json" with { type: "json" };

export interface PriceTableConfig {
  /** What `openai-compatible/<model>` talks to; null where there is none. */
  readonly openaiCompatibleUrl: string | null;
}

const FREE: RoutePrice = {
  version: TABLE.version,
  inputMicrosPerMillion: 0,
  outputMicrosPerMillion: 0,
};

export class PriceTable implements Prices {
  readonly #config: PriceTableConfig;

  constructor(config: PriceTableConfig) {
    this.#config = config;
  }

  price(route: string): RoutePrice | null {
    const slash = route.indexOf("/");
    const model = route.slice(slash + 1);
    switch (route.slice(0, slash)) {
      case "embedded":
        return FREE;
      case "workers-ai":
        return MODELS.get(model) ?? null;
      case "openai-compatible":
        return this.#served(model);
      default:
        return null;
    }
  }

  /** For listing: what routes are priced under. */
  get version(): string {
    return TABLE.version;
  }

  /** A server of one's own is paid for otherwise; of those elsewhere only the vendors' own are known. */
  #served(model: string): RoutePrice | null {
    const { openaiCompatibleUrl } = this.#config;
    if (openaiCompatibleUrl === null || !URL.canParse(openaiCompatibleUrl)) return null;
    const { hostname } = new URL(openaiCompatibleUrl);
    if (LOOPBACK.has(hostname)) return FREE;
    const vendor = VENDORS.get(hostname);
    return vendor === undefined ? null : (MODELS.get(`${vendor}/${model}`) ?? null);
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);
const VENDORS: ReadonlyMap<string, string> = new Map([
  ["api.openai.com", "openai"],
  ["api.anthropic.com", "anthropic"],
  ["generativelanguage.googleapis.com", "google"],
]);

type Rates = Omit<RoutePrice, "version" | "tiers">;
interface EntryRates {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  readonly audioInput?: number;
  readonly audioOutput?: number;
}
/** As an entry of prices.json has it. */
export interface PriceEntry extends EntryRates {
  /** Of calls with more input than `aboveInput` tokens. */
  readonly tiers?: readonly (EntryRates & { readonly aboveInput: number })[];
}

const MODELS: ReadonlyMap<string, RoutePrice> = new Map(
  Object.entries<PriceEntry>(TABLE.models).map(([id, entry]) => [id, toRoutePrice(id, entry)]),
);

export function toRoutePrice(id: string, { tiers = [], ...entry }: PriceEntry): RoutePrice {
  const steps = tiers.map(({ aboveInput, ...rates }) => ({
    aboveInputTokens: whole(id, aboveInput),
    ...toRates(id, rates),
  }));
  invariant(
    new Set(steps.map(({ aboveInputTokens }) => aboveInputTokens)).size === steps.length,
    `${id} has each tier once`,
  );
  return {
    version: TABLE.version,
    ...toRates(id, entry),
    ...(steps.length === 0 ? {} : { tiers: steps }),
  };
}

function toRates(id: string, entry: EntryRates): Rates {
  const rate = (name: keyof EntryRates): number | undefined => {
    const value = entry[name];
    return value === undefined ? undefined : whole(id, value);
  };
  return {
    inputMicrosPerMillion: rate("input") ?? 0,
    outputMicrosPerMillion: rate("output") ?? 0,
    ...optional("cachedInputMicrosPerMillion", rate("cachedInput")),
    ...optional("cacheWriteMicrosPerMillion", rate("cacheWrite")),
    ...optional("reasoningMicrosPerMillion", rate("reasoning")),
    ...optional("audioInputMicrosPerMillion", rate("audioInput")),
    ...optional("audioOutputMicrosPerMillion", rate("audioOutput")),
  };
}

function whole(id: string, value: number): number {
  invariant(Number.isSafeInteger(value) && value >= 0, `${id} has whole prices`);
  return value;
}

function optional(name: keyof Rates, value: number | undefined): Partial<Rates> {
  return value === undefined ? {} : { [name]: value };
}
