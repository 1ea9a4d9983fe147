/**
 * Asking: what a run waits for as a request to the client that sits before the person, and its answer as a decision (P102).
 *
 * The approval stays the authority: who may decide, whether it is still open, and what the answer has to fit are the
 * thread's to say, whichever way the answer came.
 */
import type { ApprovalView, DecideApproval } from "#ports/thread-gateway.ts";
import type { ClientRequest } from "#ports/tool.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import type { ClientAbilities } from "./call.ts";

const NEEDS = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
} as const;

export interface Ask extends ClientRequest {
  readonly approval: ApprovalView;
}

/** Null where the client cannot be asked about all of it: then the person is told what waits. */
export function toAsks(
  open: readonly ApprovalView[],
  abilities: ClientAbilities,
): readonly Ask[] | null {
  const asks = open.map(toAsk);
  const able = asks.every(({ method }) => abilities[NEEDS[method]]);
  return able && asks.length > 0 ? asks : null;
}

/** What only a program can answer is asked of one that cannot, too: the protocol's own error then says what it lacks. */
export function toProgramAsks(open: readonly ApprovalView[]): readonly Ask[] | null {
  const asks = open.map(toAsk).filter(({ method }) => method !== "elicitation/create");
  return asks.length > 0 ? asks : null;
}

export function toAsk(approval: ApprovalView): Ask {
  const request = approval.client ?? {
    key: approval.approvalId,
    method: "elicitation/create" as const,
    params: toForm(approval),
  };
  return { ...request, params: withMode(request), approval };
}

export function toInputRequests(asks: readonly Ask[]): { readonly [key: string]: Json } {
  return Object.fromEntries(asks.map(({ key, method, params }) => [key, { method, params }]));
}

/** Null where the person has dismissed the question: it stays open. */
export function toDecision({ approval, method }: Ask, response: Json): DecideApproval | null {
  const { approvalId, kind, answerSchema } = approval;
  const decided = (decision: DecideApproval["decision"], answer: Json, comment: string | null) => ({
    approvalId,
    decision,
    answer,
    comment,
  });
  if (method !== "elicitation/create") return decided("answer", response, null);
  if (!isJsonObject(response)) return null;
  const { action, content } = response;
  if (action === "decline") return decided("deny", null, null);
  if (action !== "accept" || !isJsonObject(content)) return null;
  if (kind !== "question") {
    const comment = typeof content["comment"] === "string" ? content["comment"] : null;
    const verb = content["decision"];
    return verb === "approve" || verb === "deny" ? decided(verb, null, comment) : null;
  }
  if (approval.client !== undefined || isForm(answerSchema))
    return decided("answer", content, null);
  const answer = content["answer"];
  if (answerSchema === null) return decided("answer", answer ?? null, null);
  return decided("answer", typeof answer === "string" ? parseJson(answer) : null, null);
}

function withMode({ method, params }: ClientRequest): JsonObject {
  return method === "elicitation/create" && !("mode" in params)
    ? { mode: "form", ...params }
    : params;
}

function toForm({ kind, tool, args, question, answerSchema }: ApprovalView): JsonObject {
  if (kind !== "question") {
    return {
      message: question ?? `May ${tool ?? "a tool"} run with ${JSON.stringify(args)}?`,
      requestedSchema: {
        type: "object",
        properties: {
          decision: { type: "string", enum: ["approve", "deny"], title: "Decision" },
          comment: { type: "string", title: "Comment" },
        },
        required: ["decision"],
      },
    };
  }
  const message = question ?? "The agent has a question.";
  if (isForm(answerSchema)) return { message, requestedSchema: answerSchema };
  const title = answerSchema === null ? "Answer" : "Answer, as JSON";
  return {
    message:
      answerSchema === null ? message : `${message}\nAs JSON of ${JSON.stringify(answerSchema)}`,
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title } },
      required: ["answer"],
    },
  };
}

/** What a form can hold: an object of plain values. */
function isForm(schema: Json): schema is JsonObject {
  if (!isJsonObject(schema) || schema["type"] !== "object") return false;
  const { properties } = schema;
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return false;
  return Object.values(properties).every(
    (property) =>
      isJsonObject(property) &&
      ["string", "number", "integer", "boolean"].includes(String(property["type"])),
  );
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
