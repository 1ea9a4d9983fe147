/** What a response was asked with, as items: the events from the one that asked to the model's next call. */
import { z } from "zod";
import { toCaller } from "#auth/principal.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import { isJsonObject } from "#shared/json.ts";
import { errorResponse, invalid, toRefused } from "./errors.ts";
import { toCallId, type ResponsePlace } from "./ids.ts";
import type { OpenAiCall } from "./routes.ts";
import { find } from "./serve-response.ts";
import { findAsking } from "./begin.ts";

/** Of one request at most; a model is called within a few events of it. */
const PAGE = 200;

const Query = z.object({
  order: z.enum(["asc", "desc"]).default("desc"),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().optional(),
});
interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

export async function listInputItems(
  call: OpenAiCall,
  id: string,
  query: { readonly [name: string]: string },
): Promise<Response> {
  const asked = Query.safeParse(query);
  if (!asked.success) {
    const param = String(asked.error.issues[0]?.path[0] ?? "");
    return errorResponse(invalid(`${param} is not valid.`, param));
  }
  const found = await find(call, id);
  if (!found.ok) return errorResponse(found.error);
  const { place } = found.value;
  const caller = toCaller(call.principal);
  const page = await call.deps.threads
    .stub(caller, place)
    .events(caller, { after: Math.max(0, place.seq - 1), limit: PAGE });
  if (!page.ok) return errorResponse(toRefused(page.error));
  const { order, limit, after } = asked.data;
  const items = toItems(page.value.items, place);
  const ordered = order === "asc" ? items : items.toReversed();
  const from = after === undefined ? 0 : ordered.findIndex((item) => item.id === after) + 1;
  const data = ordered.slice(from, from + limit);
  return Response.json({
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  });
}

function toItems(events: readonly EventView[], place: ResponsePlace): readonly Item[] {
  const asking = findAsking(events, place);
  if (asking === null) return [];
  const own = events.slice(events.indexOf(asking)).filter(({ header }) => header.run === place.run);
  const end = own.findIndex(({ header }) => header.type === "model.requested");
  return own.slice(0, end < 0 ? own.length : end).flatMap((event) => toItem(event, place));
}

function toItem({ header, payload }: EventView, place: ResponsePlace): readonly Item[] {
  // Erased: that there was something is in the log; what it said is nowhere.
  if (!isJsonObject(payload)) return [];
  const { id, type, cause } = header;
  if (type === "input.received") {
    const content = [{ type: "input_text", text: payload["text"] }];
    return [{ id: `msg_${id}`, type: "message", role: "user", status: "completed", content }];
  }
  if (type !== "approval.decided" || cause === null) return [];
  const callId = toCallId({ thread: place.thread, approvalId: cause });
  const { decision, answer, comment } = payload;
  if (decision === "answered") {
    const output = typeof answer === "string" ? answer : JSON.stringify(answer);
    const of = { call_id: callId, output, status: "completed" };
    return [{ id: `fco_${id}`, type: "function_call_output", ...of }];
  }
  const approve = decision === "approved";
  const of = { approval_request_id: callId, approve, reason: comment };
  return [{ id: `mcpr_${id}`, type: "mcp_approval_response", ...of }];
}
