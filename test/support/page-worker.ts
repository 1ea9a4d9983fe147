/**
 * Entry of the build that the page is tested against: the product's own composition with one agent more, whose model does
 * what the message says. `slow N`: N words, 40 ms each. `mails TO TO TO`: as many calls at once, each to be approved. `ask`: a
 * question with a schema. `table`: Markdown. `fail`: a run that fails. `again`: the same call, over and over. `plan`: a plan.
 * After results it names them. The agent `unpriced` does the same over a route that nobody has priced; `limited` too, and has
 * a limit in money.
 */
import { AGENTS } from "#agents/registry.generated.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import type { Model, ModelPart, PromptMessage, PromptText } from "#ports/model.ts";
import type { Prices } from "#ports/prices.ts";
import { AppError } from "#shared/errors.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import { composeApp, composeLedger, composeThread } from "#src/composition.ts";
import type { Env } from "#src/env.ts";
import { askHuman } from "#tools/ask-human.ts";
import { ls } from "#tools/ls.ts";
import { sendEmail } from "#tools/send-email.ts";
import { updatePlan } from "#tools/update-plan.ts";

export { MemoryObject } from "#durable-objects/memory-object.ts";

const ROUTE = "test/obeys";
const UNPRICED_ROUTE = "test/unpriced";
const USAGE = {
  inputTokens: 3,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: 4,
  reasoningTokens: null,
};
const TABLE = `The **totals** are:

| city | revenue |
| --- | ---: |
| Hamburg | 6417.60 |
| Lisbon | 4156.50 |

<img src=x onerror="document.title='owned'"> and [a link](https://example.com).`;
const QUESTION = {
  question: "Which day, and for how many?",
  schema: {
    type: "object",
    properties: {
      day: { type: "string", enum: ["Thursday", "Friday"] },
      people: { type: "integer", description: "You included" },
    },
    required: ["day", "people"],
  },
};

const PLAN = {
  items: [
    { text: "Read the figures", status: "done" },
    { text: "Add them up", status: "active" },
    { text: "Write the summary", status: "pending" },
  ],
};

const obeys: Model = {
  route: ROUTE,
  async *stream({ messages }, { signal }) {
    const said = messages.filter((message) => !isNote(message));
    const [verb = "", ...rest] = lastUserText(said).split(" ");
    const results = lastResults(said);
    if (verb === "again") yield* call([{ name: "ls", args: {} }]);
    else if (results.length > 0) yield* say(`Results: ${results.join("; ")}`);
    else if (verb === "mails") yield* call(rest.map(toMail));
    else if (verb === "ask") yield* call([{ name: "ask_human", args: QUESTION }]);
    else if (verb === "plan") yield* call([{ name: "update_plan", args: PLAN }]);
    else if (verb === "table") yield* say(TABLE);
    else if (verb === "fail") throw new AppError("model_rejected", "The model says no.");
    else if (verb === "slow") {
      for (let word = 1; word <= Number(rest[0]); word += 1) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        if (signal.aborted) return;
        yield { type: "text", text: `w${word} ` };
      }
      yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
    } else yield* say(rest.join(" "));
  },
};

function toMail(to: string) {
  const body = `Dear ${to},\n\nFriday at ten?`;
  return { name: "send_email", args: { to: `${to}@example.com`, subject: `For ${to}`, body } };
}

function* call(
  calls: readonly { readonly name: string; readonly args: object }[],
): Generator<ModelPart> {
  for (const [index, { name, args }] of calls.entries()) {
    yield { type: "call", providerCallId: `p${index}`, name, argsText: JSON.stringify(args) };
  }
  yield { type: "finish", reason: "tool_calls", raw: null, usage: USAGE };
}

function* say(text: string): Generator<ModelPart> {
  yield { type: "text", text };
  yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
}

/** What the runtime says to the model is nothing that a person has said. */
function isNote(message: PromptMessage): boolean {
  return message.role === "user" && toText(message.content).startsWith("<runtime-note");
}

function toText(content: readonly PromptText[]): string {
  return content.map(({ text }) => text).join("");
}

function lastUserText(messages: readonly PromptMessage[]): string {
  const user = messages.findLast(({ role }) => role === "user");
  return user?.role === "user" ? toText(user.content) : "";
}

function lastResults(messages: readonly PromptMessage[]): readonly string[] {
  const since = messages.findLastIndex(({ role }) => role !== "tool");
  return messages
    .slice(since + 1)
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .map(({ output }) => output);
}

const AGENT = defineAgent({
  name: "obeys",
  description: "Does what the message says.",
  instructions: "Do what the message says.",
  model: ROUTE,
  tools: [sendEmail, askHuman, ls, updatePlan],
  schedules: {
    morning: { cron: "30 7 * * 1-5", timeZone: "Asia/Tokyo", text: "say good morning" },
  },
});
const UNPRICED = defineAgent({
  name: "unpriced",
  description: "Does what the message says, and nobody knows what it costs.",
  instructions: "Do what the message says.",
  model: UNPRICED_ROUTE,
  tools: [ls],
  limits: { maxCostMicros: null },
});
const LIMITED = defineAgent({
  name: "limited",
  description: "May spend some money, over a route whose price nobody knows.",
  instructions: "Do what the message says.",
  model: UNPRICED_ROUTE,
  tools: [ls],
  limits: { maxCostMicros: 1_000 },
});
const OBEYING = [AGENT, UNPRICED, LIMITED];
const ROUTES: ReadonlyMap<string, Model> = new Map([
  [ROUTE, obeys],
  [UNPRICED_ROUTE, { ...obeys, route: UNPRICED_ROUTE }],
]);
const toPrice = (micros: number) => ({
  version: "test",
  inputMicrosPerMillion: micros,
  outputMicrosPerMillion: micros,
});
/** A dollar a million tokens over the route of this file, nothing over those of the product. */
const PRICES: Prices = {
  price(route) {
    if (route === UNPRICED_ROUTE) return null;
    return toPrice(route === ROUTE ? 1_000_000 : 0);
  },
};

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ThreadComposition => {
    const own = composeThread(env, [...AGENTS, ...OBEYING]);
    return {
      ...own,
      prices: () => PRICES,
      models: { resolve: (route) => ROUTES.get(route) ?? own.models.resolve(route) },
    };
  };
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    return composeApp(env, [...AGENTS, ...OBEYING]).fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
