/** Prices: integer micro-dollars per million tokens of a route, from a versioned table. */
export interface RoutePrice {
  readonly version: string;
  readonly inputMicrosPerMTok: number;
  readonly cachedInputMicrosPerMTok: number;
  readonly outputMicrosPerMTok: number;
}
export interface Prices {
  /** Null where nothing is known: such calls cost 0 and carry no price version. */
  price(route: string): RoutePrice | null;
}
