/** G03 over A2A, both bindings: what is said between a cut, a look at the task and a new subscription is lost to nobody. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { Model, ModelCallOptions, ModelPart, ModelRequest } from "#ports/model.ts";
import {
  BINDINGS,
  callA2a,
  openA2a,
  stateOf,
  Subscription,
  type Binding,
  type Update,
} from "../support/a2a-wire.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";

const AGENT = "g03";
const ROUTE = "test/g03";
const EVENTS = 10;
const wordsTo = (last: number): string =>
  Array.from({ length: last }, (_, index) => `w${index + 1} `).join("");
const USAGE = {
  inputTokens: 1,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: 1,
  reasoningTokens: null,
};

/** Says as many of its ten words as it is allowed to, and waits for more. */
class PacedModel implements Model {
  readonly route = ROUTE;
  #allowed = 0;
  #more = Promise.withResolvers<void>();

  allow(words: number): void {
    this.#allowed = words;
    this.#more.resolve();
    this.#more = Promise.withResolvers<void>();
  }

  async *stream(_request: ModelRequest, { signal }: ModelCallOptions): AsyncGenerator<ModelPart> {
    const aborted = new Promise<void>((done) =>
      signal.addEventListener("abort", () => done(), { once: true }),
    );
    for (let word = 1; word <= EVENTS; word += 1) {
      while (word > this.#allowed && !signal.aborted)
        await Promise.race([this.#more.promise, aborted]);
      if (signal.aborted) return;
      yield { type: "text", text: `w${word} ` };
    }
    yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
  }
}

/** As a client that follows the protocol puts the answer together: a piece that is not appended takes its place. */
class Answer {
  text = "";
  readonly states: string[] = [];

  take(update: Update): void {
    const state = stateOf(update);
    if (state !== undefined) this.states.push(state);
    if (update.task !== undefined) this.text = answerOf(update.task);
    if (update.artifactUpdate === undefined) return;
    const { artifact, append, metadata } = update.artifactUpdate as unknown as {
      readonly artifact: Artifact;
      readonly append?: true;
      readonly metadata?: { readonly offset: number };
    };
    // The sequence that an appended piece carries: what it follows is what is here.
    if (append === true) expect(metadata?.offset).toBe(this.text.length);
    this.text = (append === true ? this.text : "") + textOf(artifact);
  }

  async readTo(stream: Subscription, text: string): Promise<void> {
    while (this.text !== text) {
      const update = await stream.next();
      if (update === null) throw new Error(`the stream ended at ${this.text}`);
      this.take(update);
      expect(wordsTo(EVENTS).startsWith(this.text)).toBe(true);
    }
  }
}
interface Artifact {
  readonly artifactId: string;
  readonly parts: readonly { readonly text?: string }[];
}
const textOf = ({ parts }: Artifact): string => parts.map(({ text = "" }) => text).join("");
function answerOf(task: object): string {
  const { artifacts = [] } = task as { readonly artifacts?: readonly Artifact[] };
  const answer = artifacts.find(({ artifactId }) => artifactId === "answer");
  return answer === undefined ? "" : textOf(answer);
}

let api: Api;
let model: PacedModel;
beforeAll(async () => {
  api = await Api.service("g03");
});
afterEach(() => lab.models.clear());

function install(): void {
  model = new PacedModel();
  const words = { description: "Counts.", instructions: "Count." };
  deploy(defineAgent({ name: AGENT, ...words, model: ROUTE, tools: [] }));
  lab.models.set(ROUTE, model);
}

/** message/stream, cut behind the third of ten. */
async function cutBehindThree(binding: Binding): Promise<{ id: string; seen: Answer }> {
  install();
  const parts = [{ text: "count" }];
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts };
  const params = { message };
  const opened = await openA2a(api, binding, {
    method: "SendStreamingMessage",
    params,
    agent: AGENT,
  });
  const stream = new Subscription(opened);
  const first = await stream.next();
  const seen = new Answer();
  seen.take(first!);
  model.allow(3);
  await seen.readTo(stream, wordsTo(3));
  await stream.leave();
  return { id: first?.task?.id ?? "", seen };
}

async function getTask(binding: Binding, id: string): Promise<object> {
  const { body } = await callA2a(api, binding, { method: "GetTask", params: { id }, agent: AGENT });
  return body;
}
const subscribe = (binding: Binding, id: string): Promise<Subscription> =>
  Subscription.to(api, binding, { id, agent: AGENT });

/** From a subscription's first word to the task's end. */
async function readToEnd(stream: Subscription): Promise<Answer> {
  const answer = new Answer();
  for (;;) {
    const update = await stream.next();
    if (update === null) return answer;
    answer.take(update);
  }
}

describe.each(BINDINGS)("G03 over %s", (binding) => {
  it("G03 [P94] [P95] what is said between the look and the subscription is in its first word, and nothing is told twice", async () => {
    const { id, seen } = await cutBehindThree(binding);
    const looked = await getTask(binding, id);
    expect(answerOf(looked)).toBe(wordsTo(3));
    expect(looked).toMatchObject({ id, status: { state: "TASK_STATE_WORKING" } });
    model.allow(6);
    // Two at once; each has what the first reader had, what was said while nobody read, and the rest.
    const [one, two] = [await subscribe(binding, id), await subscribe(binding, id)];
    const again = new Answer();
    await again.readTo(one, wordsTo(6));
    expect(again.text.startsWith(seen.text)).toBe(true);
    model.allow(EVENTS);
    const other = readToEnd(two);
    for (let update = await one.next(); update !== null; update = await one.next())
      again.take(update);
    for (const answer of [again, await other]) {
      expect(answer.text).toBe(wordsTo(EVENTS));
      expect(answer.states.at(0)).toBe("TASK_STATE_WORKING");
      expect(answer.states.filter((state) => state === "TASK_STATE_COMPLETED")).toHaveLength(1);
    }
    expect(answerOf(await getTask(binding, id))).toBe(wordsTo(EVENTS));
  });

  it("G03 [P94] [P95] the same with a restart between: the new attempt's words take the place of the lost ones", async () => {
    const { id } = await cutBehindThree(binding);
    expect(answerOf(await getTask(binding, id))).toBe(wordsTo(3));
    const open = await subscribe(binding, id);
    expect(await open.next()).toHaveProperty("task");
    model.allow(6);
    await abortAllDurableObjects();
    // The server went away before the task had ended: nothing on that stream says that it had.
    const cut = await open.rest().catch(() => []);
    expect(cut.map(stateOf)).not.toContain("TASK_STATE_COMPLETED");
    const [one, two] = [await subscribe(binding, id), await subscribe(binding, id)];
    const both = [readToEnd(one), readToEnd(two)];
    model.allow(EVENTS);
    for (const answer of await Promise.all(both)) {
      expect(answer.text).toBe(wordsTo(EVENTS));
      expect(answer.states.at(-1)).toBe("TASK_STATE_COMPLETED");
    }
    expect(answerOf(await getTask(binding, id))).toBe(wordsTo(EVENTS));
  });
});
