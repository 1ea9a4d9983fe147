/** Who is compared, and the scripts that all of them run. */
export const OURS = "holdfast";
export const PEERS = ["chat-peer", "think-peer"];
export const CONTENDERS = [OURS, ...PEERS];
export const NAMES = { holdfast: "Holdfast", "chat-peer": "AIChatAgent", "think-peer": "Think" };
export const STEPS = 20;

export function script(changes = {}) {
  return { steps: STEPS, pauseMs: 0, words: 0, report: null, holdTextAt: null, ...changes };
}

export const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
export const sum = (list) => list.reduce((total, value) => total + value, 0);
export const round = (value, digits = 0) => Number(value.toFixed(digits));
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const range = (count) => Array.from({ length: count }, (_, index) => index);

/** In another order each round, so that nobody always runs behind the same neighbour. */
export function order(index) {
  const turned = CONTENDERS.map((_, at) => CONTENDERS[(at + index) % CONTENDERS.length]);
  return index % 2 === 0 ? turned : turned.toReversed();
}

/** One value of each contender. */
export const each = (of) => Object.fromEntries(CONTENDERS.map((name) => [name, of(name)]));
