/** A model that takes no time: what is left of a step is the runtime's own. */
import type { Model, ModelPart } from "../src/ports/model.ts";

export const USAGE = {
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
};

/** Asks for `calls` tool calls in each of `steps` steps, then says that it is done. Marks the time of each request. */
export class InstantModel implements Model {
  readonly route = "bench/instant";
  marks: number[] = [];
  #left = 0;
  #asked = 0;
  #calls = 1;
  #pauseMs = 0;

  /** `pauseMs` parts the first text from the end, so that the text is seen live. */
  begin(steps: number, calls: number, pauseMs = 0): void {
    this.#left = steps;
    this.#calls = calls;
    this.#pauseMs = pauseMs;
    this.marks = [];
  }

  async *stream(): AsyncGenerator<ModelPart> {
    this.marks.push(performance.now());
    if (this.#left > 0) {
      this.#left -= 1;
      for (let index = 0; index < this.#calls; index += 1) {
        // Another number each time: a run that asks the same again and again is stopped.
        this.#asked += 1;
        yield {
          type: "call",
          providerCallId: `c${index}`,
          name: "tick",
          argsText: `{"n":${this.#asked}}`,
        };
      }
      yield { type: "finish", reason: "tool_calls", raw: "tool_calls", usage: USAGE };
      return;
    }
    yield { type: "text", text: "done" };
    if (this.#pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    yield { type: "finish", reason: "stop", raw: "stop", usage: USAGE };
  }
}
