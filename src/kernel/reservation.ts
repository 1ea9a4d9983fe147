/** What a model call may cost at most, taken before it is made (G3, G11). Integer micro-dollars. */
import type { ModelSettings } from "#ports/model.ts";
import type { Reservation } from "./events.ts";

/** Of one route, in micro-dollars per million tokens. */
export interface Price {
  readonly inputMicrosPerMillion: number;
  readonly outputMicrosPerMillion: number;
}

const MILLION = 1_000_000;

export function reservation(
  settings: ModelSettings,
  inputTokens: number,
  price: Price | null,
): Reservation {
  return {
    tokens: inputTokens + settings.maxOutputTokens,
    costMicros: price === null ? 0 : costMicros(price, inputTokens, settings.maxOutputTokens),
  };
}

/** Rounded up, so that a cap is never passed by rounding. */
export function costMicros(price: Price, inputTokens: number, outputTokens: number): number {
  return Math.ceil(
    (inputTokens * price.inputMicrosPerMillion + outputTokens * price.outputMicrosPerMillion) /
      MILLION,
  );
}
