/** Starting and resuming runs for both APIs: a thread and a position to read from, or why not. */
import type { DecisionVerb } from "#kernel/events.ts";
import { toCaller } from "#auth/principal.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import type { OutputSpec } from "#ports/model.ts";
import type {
  ApprovalView,
  EventView,
  Reply,
  RunExtras,
  ThreadStub,
} from "#ports/thread-gateway.ts";
import { firstDecision } from "#protocols/common/first-decision.ts";
import { openTurn, type OpenTurn } from "#protocols/common/turn.ts";
import type { RunId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { canonicalJson, isJsonObject, utf8, type Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { invalid, toRefused, type Refused } from "./errors.ts";
import type { ResponsePlace } from "./ids.ts";
import type { OpenAiCall } from "./routes.ts";

export interface Beginning {
  readonly text: string;
  readonly output: OutputSpec | null;
  readonly extras: RunExtras;
  readonly messageId?: string | null;
}

/** With a key the thread follows from it, so that a repeated request meets the run that it made (K2). */
export function newThread(
  { deps, principal, idempotencyKey }: OpenAiCall,
  agent: ThreadPlace["agent"],
): ThreadId {
  if (idempotencyKey === null) return trusted<ThreadId>(deps.ids.next("thr"));
  const seed = canonicalJson(["openai", principal.tenant, principal.id, agent, idempotencyKey]);
  return trusted<ThreadId>(`thr_${deps.hasher.sha256(utf8(seed)).slice(0, 30)}`);
}

export async function begin(
  call: OpenAiCall,
  place: ThreadPlace,
  { text, output, extras, messageId = null }: Beginning,
): Promise<Result<ResponsePlace, Refused>> {
  const { deps, principal, idempotencyKey } = call;
  const message = { text, delivery: "queue", output, messageId, extras } as const;
  const sent = await deps.threads.send(toCaller(principal), place, { message, idempotencyKey });
  if (!sent.ok) return err(toRefused(sent.error));
  const { runId, seq } = sent.value;
  return ok({ ...place, run: trusted<RunId>(runId ?? ""), seq: seq - 1 });
}

export interface Given {
  readonly approvalId: string;
  readonly decision: DecisionVerb;
  readonly answer: Json;
  readonly comment: string | null;
}

export interface GoingOn {
  readonly given: readonly Given[];
  readonly text: string;
  readonly messageId?: string | null;
}

/**
 * Decides what waits and answers where to read on from. The same results again, as a client that retries sends them, find
 * the decisions made and read on from there.
 */
export async function goOn(
  call: OpenAiCall,
  place: ThreadPlace,
  { given, text, messageId = null }: GoingOn,
): Promise<Result<ResponsePlace, Refused>> {
  const caller = toCaller(call.principal);
  const stub = call.deps.threads.stub(caller, place);
  const asked = await askedOf(stub, call, given);
  if (!asked.ok) return asked;
  const [first] = asked.value;
  const open = await stub.approvals(caller, { state: "open", after: 0, limit: 200 });
  if (!open.ok) return err(toRefused(open.error));
  const missing = open.value.items.filter(
    ({ approvalId, runId }) =>
      runId === first?.runId && !given.some((one) => one.approvalId === approvalId),
  );
  if (missing.length > 0)
    return err(
      invalid(
        `${missing.length} calls of the same answer have no result here.`,
        null,
        "result_missing",
      ),
    );
  for (const [index, one] of given.entries()) {
    if (asked.value[index]?.status !== "open") continue;
    const decided = await decide(stub, call, { one, asked: asked.value[index], messageId });
    if (!decided.ok && decided.error.code !== "approval_already_decided")
      return err(toRefused(decided.error));
  }
  const run = trusted<RunId>(first?.runId ?? "");
  if (text !== "") {
    const message = { text, delivery: "steer", output: null, messageId: null } as const;
    const sent = await stub.send(caller, message, null);
    if (!sent.ok) return err(toRefused(sent.error));
  }
  const found = await firstDecision(stub, caller, asked.value);
  if (!found.ok) return err(toRefused(found.error));
  return found.value === null
    ? err(invalid("The results were not taken.", null, "unknown_call"))
    : ok({ ...place, run, seq: found.value.seq - 1 });
}

async function askedOf(
  stub: ThreadStub,
  { principal }: OpenAiCall,
  given: readonly Given[],
): Promise<Result<readonly ApprovalView[], Refused>> {
  const views: ApprovalView[] = [];
  for (const { approvalId } of given) {
    const view = await stub.approval(toCaller(principal), approvalId);
    if (!view.ok) return err(toRefused(view.error));
    views.push(view.value);
  }
  return ok(views);
}

interface Deciding {
  readonly one: Given;
  readonly asked: ApprovalView | undefined;
  readonly messageId: string | null;
}

function decide(
  stub: ThreadStub,
  { principal }: OpenAiCall,
  { one, asked, messageId }: Deciding,
): Promise<Reply<ApprovalView>> {
  const { approvalId, decision, comment } = one;
  const answer = decision === "answer" ? toAnswer(one.answer, asked) : null;
  return stub.decide(
    toCaller(principal),
    { approvalId, decision, comment, answer, messageId },
    null,
  );
}

/** Results are text on this wire. Where a question has a schema that is not of text, the text is its JSON. */
function toAnswer(answer: Json, asked: ApprovalView | undefined): Json {
  const schema = asked?.answerSchema;
  const typed =
    isJsonObject(schema) && Object.keys(schema).length > 0 && schema["type"] !== "string";
  if (!typed || typeof answer !== "string") return answer;
  try {
    return JSON.parse(answer) as Json;
  } catch {
    // The thread says what does not fit, and the question stays open (A4).
    return answer;
  }
}

const ASKS: ReadonlySet<string> = new Set(["input.received", "approval.decided"]);

/**
 * The event that a response was asked with, among those from `place.seq` on: the one behind it, or where the message began
 * its run in the same append the one at it.
 */
export function findAsking(
  events: readonly EventView[],
  { run, seq }: ResponsePlace,
): EventView | null {
  const [at, behind] = [seq, seq + 1].map((one) =>
    events.find(({ header }) => header.seq === one && header.run === run && ASKS.has(header.type)),
  );
  return behind ?? at ?? null;
}

/** Reads the run from behind `place.seq`. */
export async function follow(
  { deps, principal }: OpenAiCall,
  place: ResponsePlace,
  { live, seen }: { readonly live: boolean; readonly seen: number | null },
): Promise<Result<OpenTurn, Refused>> {
  const caller = toCaller(principal);
  const from = { seq: place.seq, attempt: 0, offset: 0 };
  const stub = deps.threads.stub(caller, place);
  const options = { from, runId: place.run, deltas: true };
  const frames = await stub.stream(caller, options);
  if (!frames.ok) return err(toRefused(frames.error));
  // A response ends where it asked for something, whatever was answered since: what follows is another response.
  const start = { runId: place.run, from, follow: live, whole: false, seen };
  return ok(openTurn(frames.value, start));
}
