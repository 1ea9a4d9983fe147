/**
 * A message to what it asks of a run: words for the model, or the answer to what the run waits for.
 *
 * P93 nothing that waits for a person runs without a clear yes: a text that is neither yes nor no to an approval is a message
 * to the agent, which supersedes the approval (A6), and of several things that wait each is named.
 */
import { z } from "zod";
import type { DecisionVerb } from "#kernel/events.ts";
import type { ApprovalView } from "#ports/thread-gateway.ts";
import { fromBase64Url } from "#shared/base64.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { a2aError, invalidField, type A2aError } from "./errors.ts";
import type { InMessage, InPart } from "./wire.ts";

export interface Given {
  readonly approvalId: string;
  readonly decision: DecisionVerb;
  readonly answer: Json;
  readonly comment: string | null;
}
export type Plan =
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "decide"; readonly given: readonly Given[] };

export type Waiting = Pick<ApprovalView, "approvalId" | "kind" | "answerSchema">;

const YES = /^\s*(yes|approve|approved|allow)\s*[.!]?\s*$/i;
const NO = /^\s*(no|deny|denied|reject|rejected)\s*[.!]?\s*$/i;

/** A file that came with a message. */
export interface Upload {
  readonly path: string;
  readonly content: Uint8Array;
}

/** In the order of the parts: words, data as JSON, and where the files lie. */
export function toText(message: InMessage): Result<string, A2aError> {
  const texts: string[] = [];
  for (const [index, part] of message.parts.entries()) {
    const text = partText(part, () => uploadPath(message, index));
    if (text === null) return err(a2aError("CONTENT_TYPE_NOT_SUPPORTED"));
    texts.push(text);
  }
  const text = texts.join("\n\n");
  return text.trim() === "" ? err(invalidField("message.parts", "nothing is said")) : ok(text);
}

/** Null for an address: nothing is fetched on a caller's word. */
function partText({ text, data, raw }: InPart, path: () => string): string | null {
  if (text !== undefined) return text;
  if (raw !== undefined) return `(file: ${path()})`;
  return data === undefined ? null : JSON.stringify(data);
}

/** What is to lie in the workspace before the message is heard. */
export function toUploads(message: InMessage): Result<readonly Upload[], A2aError> {
  const uploads: Upload[] = [];
  for (const [index, { raw }] of message.parts.entries()) {
    if (raw === undefined) continue;
    // ProtoJSON reads both alphabets, with and without padding.
    const content = fromBase64Url(raw.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""));
    if (content === null) return err(invalidField(`message.parts.${index}.raw`, "is not base64"));
    uploads.push({ path: uploadPath(message, index), content });
  }
  return ok(uploads);
}

/** Of the message and the part, so that the same message again writes the same file and no other. */
function uploadPath({ messageId, parts }: InMessage, index: number): string {
  const name =
    (parts[index]?.filename ?? "")
      .split("/")
      .at(-1)
      ?.replaceAll(/[^\w.-]+/g, "_") ?? "";
  const folder = messageId.replaceAll(/[^\w-]+/g, "_").slice(0, 64);
  return `uploads/${folder}/${index}-${/^\.*$/.test(name) ? "file" : name.slice(-100)}`;
}

/** What a message means to a run of which this waits. */
export function planAnswer(
  message: InMessage,
  waiting: readonly Waiting[],
): Result<Plan, A2aError> {
  const named = namedDecisions(message);
  if (named !== null) return named;
  const text = toText(message);
  if (!text.ok) return text;
  const [only, ...others] = waiting;
  const verdict = toVerdict(message, text.value);
  if (only === undefined) return ok({ type: "say", text: text.value });
  if (others.length > 0)
    return verdict === null
      ? ok({ type: "say", text: text.value })
      : err(
          invalidField(
            "message.parts",
            'several things wait; send a data part {"decisions": [{"id", "decision"}]} that names each',
          ),
        );
  if (only.kind === "question")
    return ok(decide(only, "answer", toAnswer(message, only, text.value)));
  return ok(verdict === null ? { type: "say", text: text.value } : decide(only, verdict, null));
}

function decide({ approvalId }: Waiting, decision: DecisionVerb, answer: Json): Plan {
  return { type: "decide", given: [{ approvalId, decision, answer, comment: null }] };
}

function toVerdict({ parts }: InMessage, text: string): "approve" | "deny" | null {
  const [part, ...others] = parts;
  const data = others.length === 0 ? part?.data : undefined;
  const said = isJsonObject(data) ? data["approved"] : data;
  if (said === true || YES.test(text)) return "approve";
  return said === false || NO.test(text) ? "deny" : null;
}

/** A question with a schema takes JSON, also where it comes as text. */
function toAnswer({ parts }: InMessage, { answerSchema }: Waiting, text: string): Json {
  const [part, ...others] = parts;
  if (others.length === 0 && part?.data !== undefined) return part.data;
  if (answerSchema === null) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const Decisions = z.looseObject({
  decisions: z
    .array(
      z.looseObject({
        id: z.string().min(1).max(256),
        decision: z.enum(["approve", "deny", "answer"]),
        answer: z
          .unknown()
          .transform((value) => (value ?? null) as Json)
          .optional(),
        comment: z.string().max(2_000).nullish(),
      }),
    )
    .min(1)
    .max(100),
});

/** Null where no part holds decisions. */
function namedDecisions({ parts }: InMessage): Result<Plan, A2aError> | null {
  const part = parts.find(({ data }) => isJsonObject(data) && "decisions" in data);
  if (part === undefined) return null;
  const parsed = Decisions.safeParse(part.data);
  if (!parsed.success)
    return err(
      invalidField(
        "message.parts.data.decisions",
        'a list of {"id", "decision": "approve" | "deny" | "answer", "answer", "comment"}',
      ),
    );
  const given = parsed.data.decisions.map(({ id, decision, answer = null, comment = null }) => ({
    approvalId: id,
    decision,
    answer: decision === "answer" ? answer : null,
    comment,
  }));
  return ok({ type: "decide", given });
}
