/** Requests of the Responses API, from their plans to their answers. */
import { z } from "zod";
import { toCaller } from "#auth/principal.ts";
import { SSE_HEADERS, toSse } from "#protocols/common/sse-writer.ts";
import type { AgentName } from "#shared/ids.ts";
import { isJsonObject, utf8, type JsonObject } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { begin, findAsking, follow, goOn, newThread } from "./begin.ts";
import { planResponse, unknownResponse, type ResponsePlan } from "./decode-response.ts";
import { errorResponse, invalid, toRefused, type Refused } from "./errors.ts";
import {
  parseMessageId,
  parseResponseId,
  toMessageId,
  toResponseId,
  type AskedWith,
  type ResponsePlace,
} from "./ids.ts";
import { seenText, toEvents, toResponse, type ResponseFrame } from "./response.ts";
import type { OpenAiCall } from "./routes.ts";
import type { ResponseBody } from "./wire.ts";

export async function answerResponse(call: OpenAiCall, body: ResponseBody): Promise<Response> {
  const plan = planResponse(body);
  if (!plan.ok) return errorResponse(plan.error);
  const asked = toAskedWith(body, plan.value);
  const place = await carryOut(call, body.model, {
    plan: plan.value,
    messageId: toMessageId(asked, toUnique(call)),
  });
  if (!place.ok) return errorResponse(place.error);
  const frame: ResponseFrame = {
    place: place.value,
    createdAt: Math.floor(call.deps.clock.now() / 1_000),
    ...toTold(asked),
    format: plan.value.type === "begin" ? plan.value.output : null,
    structured: body.text?.format != null && body.text.format.type !== "text",
  };
  const live = body.background !== true || body.stream === true;
  return serve(call, frame, { stream: body.stream === true, live, after: -1 });
}

/** `GET /responses/:id`, with `stream=true` and `starting_after` for what a client missed. */
export async function readResponse(
  call: OpenAiCall,
  id: string,
  query: { readonly [name: string]: string },
): Promise<Response> {
  const found = await find(call, id);
  if (!found.ok) return errorResponse(found.error);
  const { stream, starting_after: after = "-1" } = query;
  if (!/^-?\d{1,16}$/.test(after))
    return errorResponse(invalid("starting_after is a sequence number.", "starting_after"));
  const isStream = stream === "true";
  return serve(call, found.value, { stream: isStream, live: isStream, after: Number(after) });
}

export async function cancelResponse(call: OpenAiCall, id: string): Promise<Response> {
  const found = await find(call, id);
  if (!found.ok) return errorResponse(found.error);
  const { place } = found.value;
  const caller = toCaller(call.principal);
  const stub = call.deps.threads.stub(caller, place);
  const cancelled = await stub.cancel(caller, place.run, "cancelled by the client");
  // What has ended stays what it is.
  if (!cancelled.ok && cancelled.error.code !== "run_not_active")
    return errorResponse(toRefused(cancelled.error));
  return serve(call, found.value, { stream: false, live: false, after: -1 });
}

async function serve(
  call: OpenAiCall,
  frame: ResponseFrame,
  {
    stream,
    live,
    after,
  }: { readonly stream: boolean; readonly live: boolean; readonly after: number },
): Promise<Response> {
  const turn = await follow(call, frame.place, { live, seen: seenText(after) });
  if (!turn.ok) return errorResponse(turn.error);
  if (!stream) return Response.json(await toResponse(turn.value.items, frame));
  // The run goes on without its reader, who can ask for the rest.
  const close = async (): Promise<void> => turn.value.close();
  const body = toSse(toEvents(turn.value.items, frame, after), { left: close, cut: close });
  return new Response(body, { headers: SSE_HEADERS });
}

async function carryOut(
  call: OpenAiCall,
  agent: AgentName,
  { plan, messageId }: { readonly plan: ResponsePlan; readonly messageId: string | null },
): Promise<Result<ResponsePlace, Refused>> {
  if (plan.type === "begin") {
    const { previous } = plan;
    if (previous !== null && previous.agent !== agent)
      return err(
        invalid(`That response is of the agent ${previous.agent}.`, "previous_response_id"),
      );
    return begin(call, previous ?? { agent, thread: newThread(call, agent) }, {
      ...plan,
      messageId,
    });
  }
  const given = plan.decisions.map(({ place, ...decision }) => ({
    approvalId: place.approvalId,
    ...decision,
  }));
  return goOn(call, { agent, thread: plan.thread }, { given, text: plan.text, messageId });
}

/** Of the event that asked; payloads that are erased or pruned tell nothing. */
const Asking = z.object({
  messageId: z.string().catch(""),
  output: z
    .object({ name: z.string(), schema: z.custom<JsonObject>((value) => isJsonObject(value)) })
    .nullable()
    .catch(null),
});

function toAskedWith(body: ResponseBody, plan: ResponsePlan): AskedWith {
  const named =
    body.previous_response_id == null ? null : parseResponseId(body.previous_response_id);
  // A result names its own thread; what is continued elsewhere is not continued here.
  const previous = plan.type === "go_on" && named?.thread !== plan.thread ? null : named;
  return { previous, background: body.background === true };
}

function toTold({
  previous,
  background,
}: AskedWith): Pick<ResponseFrame, "previous" | "background"> {
  return { previous: previous === null ? null : toResponseId(previous), background };
}

/** The same for a request that comes again under its key. */
function toUnique({ deps, idempotencyKey }: OpenAiCall): string {
  const seed = idempotencyKey ?? deps.ids.next("msg");
  return deps.hasher.sha256(utf8(seed)).slice(0, 8);
}

export async function find(call: OpenAiCall, id: string): Promise<Result<ResponseFrame, Refused>> {
  const place = parseResponseId(id);
  if (place === null) return err(unknownResponse("response_id"));
  const caller = toCaller(call.principal);
  const stub = call.deps.threads.stub(caller, place);
  const run = await stub.run(caller, place.run);
  if (!run.ok) return err(unknownResponse("response_id"));
  const near = await stub.events(caller, { after: Math.max(0, place.seq - 1), limit: 2 });
  const payload = near.ok ? findAsking(near.value.items, place)?.payload : null;
  const { messageId, output: format } = Asking.parse(isJsonObject(payload) ? payload : {});
  const { createdAt, output } = run.value;
  return ok({
    place,
    createdAt: Math.floor(createdAt / 1_000),
    ...toTold(parseMessageId(place, messageId)),
    format,
    structured: output !== null,
  });
}
