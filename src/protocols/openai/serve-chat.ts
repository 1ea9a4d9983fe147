/** One request of Chat Completions, from its plan to its answer. */
import { toCaller } from "#auth/principal.ts";
import { SSE_HEADERS, toSse } from "#protocols/common/sse-writer.ts";
import type { AgentName } from "#shared/ids.ts";
import type { Result } from "#shared/result.ts";
import { begin, follow, goOn, newThread } from "./begin.ts";
import { toChunks, toCompletion, type ChatFrame } from "./chat.ts";
import { planChat, type ChatPlan } from "./decode.ts";
import { errorResponse, type Refused } from "./errors.ts";
import type { ResponsePlace } from "./ids.ts";
import type { OpenAiCall } from "./routes.ts";
import type { ChatBody } from "./wire.ts";

export async function answerChat(call: OpenAiCall, body: ChatBody): Promise<Response> {
  const plan = planChat(body);
  if (!plan.ok) return errorResponse(plan.error);
  const place = await carryOut(call, body.model, plan.value);
  if (!place.ok) return errorResponse(place.error);
  const turn = await follow(call, place.value, { live: true, seen: null });
  if (!turn.ok) return errorResponse(turn.error);
  const frame = toFrame(call, body, place.value);
  const headers = { "x-holdfast-thread": frame.thread, "x-holdfast-run": place.value.run };
  if (body.stream !== true) {
    const said = await toCompletion(turn.value.items, frame);
    return said.ok ? Response.json(said.body, { headers }) : errorResponse(said);
  }
  const close = async (): Promise<void> => turn.value.close();
  const left = async (): Promise<void> => {
    await close();
    await abandon(call, place.value);
  };
  // With its key the same request finds the run again, which therefore goes on.
  const cut = call.idempotencyKey === null ? left : close;
  const stream = toSse(toChunks(turn.value.items, frame), { left, cut });
  return new Response(stream, { headers: { ...SSE_HEADERS, ...headers } });
}

async function carryOut(
  call: OpenAiCall,
  agent: AgentName,
  plan: ChatPlan,
): Promise<Result<ResponsePlace, Refused>> {
  if (plan.type === "begin") return begin(call, { agent, thread: newThread(call, agent) }, plan);
  const given = plan.results.map(({ place, output }) => ({
    approvalId: place.approvalId,
    decision: "answer" as const,
    answer: output,
    comment: null,
  }));
  return goOn(call, { agent, thread: plan.thread }, { given, text: plan.text });
}

/** Nobody can come back to a stream of this API, so what it would cost is not spent. */
async function abandon({ deps, principal }: OpenAiCall, place: ResponsePlace): Promise<void> {
  const caller = toCaller(principal);
  await deps.threads.stub(caller, place).cancel(caller, place.run, "the client left");
}

function toFrame({ deps }: OpenAiCall, body: ChatBody, place: ResponsePlace): ChatFrame {
  return {
    id: `chatcmpl-${place.run}.${place.seq}`,
    model: body.model,
    thread: place.thread,
    created: Math.floor(deps.clock.now() / 1_000),
    includeUsage: body.stream_options?.include_usage === true,
    structured: body.response_format != null && body.response_format.type !== "text",
  };
}
