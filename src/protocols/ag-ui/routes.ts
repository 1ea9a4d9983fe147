/**
 * Routes of AG-UI: `POST /ag-ui/:agent` runs, `GET /ag-ui/:agent/:thread/runs/:run` reads a run again.
 *
 * P70 to P73. A run goes on without its reader. The client's run id is the idempotency key of its message, so the same
 * request again is the same run.
 */
import type { Principal, Scope } from "#auth/principal.ts";
import { hasScope, toCaller } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess, ThreadPlace } from "#auth/thread-access.ts";
import type {
  ApprovalView,
  Caller,
  Failure,
  Page,
  Reply,
  ThreadStub,
} from "#ports/thread-gateway.ts";
import { firstDecision } from "#protocols/common/first-decision.ts";
import { SSE_HEADERS, toSse } from "#protocols/common/sse-writer.ts";
import { openTurn, type OpenTurn, type TurnItem } from "#protocols/common/turn.ts";
import { MAX_JSON_BYTES, readJson } from "#protocols/rest/body.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { isMessageId, isRunId, isThreadId, type AgentName } from "#shared/ids.ts";
import { canonicalJson } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { isYes, planRun, type GivenAnswer, type RunPlan } from "./decode.ts";
import {
  behind,
  isBrokenOff,
  parseEventId,
  RunWriter,
  seenText,
  toBlock,
  type RunFrame,
} from "./encode.ts";
import { refuseRun, toInvalid } from "./errors.ts";
import { RunInput } from "./wire.ts";

export interface AgUiDeps {
  readonly threads: ThreadAccess;
  readonly limits: RateLimits;
}
export interface AgUiCall {
  readonly deps: AgUiDeps;
  readonly principal: Principal;
  readonly agent: AgentName;
  readonly requestId: string;
}
interface Started {
  readonly run: string;
  readonly seq: number;
}

export async function startRun(call: AgUiCall, request: Request): Promise<Response> {
  const input = await decode(call, request);
  if (!input.ok) return refuseRun(input.error, call.requestId);
  const { threadId, runId } = input.value;
  const place = { agent: call.agent, thread: threadId };
  const plan = planRun(input.value);
  const started = await carryOut(call, place, { plan, runId, messages: input.value.messages });
  if (!started.ok) return refuseRun(started.error, call.requestId);
  return serve(call, place, { threadId, runId, ...started.value, after: -1 });
}

/** `Last-Event-ID` goes on behind it; without one the run is told from its beginning. */
export async function readRun(
  call: AgUiCall,
  {
    thread,
    run,
    headers,
  }: { readonly thread: string; readonly run: string; readonly headers: Headers },
): Promise<Response> {
  const missing = refuseRun(failure("not_found"), call.requestId);
  if (!hasScope(call.principal, "threads:read"))
    return refuseRun(needs("threads:read"), call.requestId);
  if (!isThreadId(thread) || !isRunId(run)) return missing;
  const place = { agent: call.agent, thread };
  const caller = toCaller(call.principal);
  const view = await call.deps.threads.stub(caller, place).run(caller, run);
  if (!view.ok) return refuseRun(view.error, call.requestId);
  const last = headers.get("last-event-id");
  const after = last === null ? -1 : parseEventId(last, run);
  if (after === null) {
    const invalid = failure(
      "invalid_request",
      "Last-Event-ID is the id of an event of this run's stream.",
    );
    return refuseRun(invalid, call.requestId);
  }
  const { startSeq } = view.value;
  return serve(call, place, {
    threadId: thread,
    runId: run,
    run,
    seq: startSeq - 1,
    after,
  });
}

async function decode(call: AgUiCall, request: Request): Promise<Result<RunInput, Failure>> {
  const { principal, deps } = call;
  // Both: its answer is what the thread holds.
  for (const scope of ["threads:write", "threads:read"] as const)
    if (!hasScope(principal, scope)) return err(needs(scope));
  const wait = deps.limits.take("run", principal);
  if (wait !== null) return err(rateLimited(wait));
  const json = await readJson(request, { maxBytes: MAX_JSON_BYTES, code: "body_too_large" });
  if (!json.ok) return json;
  const input = RunInput.safeParse(json.value);
  return input.success ? ok(input.data) : err(toInvalid(input.error));
}

async function carryOut(
  call: AgUiCall,
  place: ThreadPlace,
  {
    plan,
    runId,
    messages,
  }: { readonly plan: RunPlan; readonly runId: string; readonly messages: RunInput["messages"] },
): Promise<Result<Started, Failure>> {
  const caller = toCaller(call.principal);
  const { threads } = call.deps;
  const stated = await takeState(call, place, plan);
  if (!stated.ok) return stated;
  if (plan.answers.length > 0) return goOn(call, place, plan.answers);
  if (plan.text.trim() === "")
    return err(
      failure("invalid_request", "There is no new message of the user, and nothing is resumed."),
    );
  const last = messages.findLast(({ role }) => role === "user")?.id ?? "";
  const { tools, instructions } = plan.extras;
  const isOrdinary = tools.length === 0 && instructions === null;
  const message = {
    text: plan.text,
    delivery: "queue",
    output: null,
    messageId: isMessageId(last) ? last : null,
    ...(isOrdinary ? {} : { extras: plan.extras }),
  } as const;
  const sent = await threads.send(caller, place, { message, idempotencyKey: `ag-ui:${runId}` });
  if (!sent.ok) return sent;
  return ok({ run: sent.value.runId ?? "", seq: sent.value.seq - 1 });
}

/** A state that the client changed is the thread's from here on. */
async function takeState(
  { deps, principal }: AgUiCall,
  place: ThreadPlace,
  { state }: RunPlan,
): Promise<Reply<null>> {
  if (state === null) return ok(null);
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, place);
  const view = await stub.view(caller);
  if (!view.ok && view.error.code === "not_found") {
    const created = await deps.threads.create(caller, place, { title: null, idempotencyKey: null });
    if (!created.ok) return created;
  } else if (!view.ok) return view;
  if (view.ok && canonicalJson(view.value.state) === canonicalJson(state)) return ok(null);
  const put = await stub.putState(caller, state, null);
  return put.ok ? ok(null) : put;
}

/** Answers what waits, and reads on from the first of the decisions. */
async function goOn(
  { deps, principal }: AgUiCall,
  place: ThreadPlace,
  answers: readonly GivenAnswer[],
): Promise<Result<Started, Failure>> {
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, place);
  const asked: ApprovalView[] = [];
  for (const answer of answers) {
    const view = await approvalOf(stub, caller, answer);
    if (!view.ok) return view;
    asked.push(view.value);
  }
  for (const [index, answer] of answers.entries()) {
    const view = asked[index];
    if (view?.status !== "open") continue;
    const { approvalId, kind } = view;
    const asks = kind === "question" ? "answer" : isYes(answer.answer) ? "approve" : "deny";
    const decision = answer.decision === "deny" ? "deny" : asks;
    const decided = await stub.decide(
      caller,
      { approvalId, decision, comment: null, answer: decision === "answer" ? answer.answer : null },
      null,
    );
    if (!decided.ok && decided.error.code !== "approval_already_decided") return decided;
  }
  const found = await firstDecision(stub, caller, asked);
  if (!found.ok) return found;
  return found.value === null
    ? err(failure("conflict", "Nothing was decided."))
    : ok({ run: found.value.run, seq: found.value.seq - 1 });
}

/** By the approval's id, or the newest that asked for this call: newest first would need a second order of pages. */
async function approvalOf(
  stub: ThreadStub,
  caller: Caller,
  answer: GivenAnswer,
): Promise<Reply<ApprovalView>> {
  if (answer.by === "approval") return stub.approval(caller, answer.id);
  let found: ApprovalView | undefined;
  for (let after: number | null = 0; after !== null;) {
    const page: Reply<Page<ApprovalView>> = await stub.approvals(caller, {
      state: "all",
      after,
      limit: 200,
    });
    if (!page.ok) return page;
    found = page.value.items.findLast(({ callId }) => callId === answer.id) ?? found;
    after = page.value.next;
  }
  return found === undefined ? err(failure("not_found")) : ok(found);
}

function needs(scope: Scope): Failure {
  return failure("forbidden", `This needs the scope ${scope}.`, { scope });
}

async function serve(
  { deps, principal, requestId }: AgUiCall,
  place: ThreadPlace,
  read: Omit<RunFrame, "state" | "seen">,
): Promise<Response> {
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, place);
  const view = await stub.view(caller);
  if (!view.ok) return refuseRun(view.error, requestId);
  const from = { seq: read.seq, attempt: 0, offset: 0 };
  const frames = await stub.stream(caller, { from, runId: read.run, deltas: true });
  if (!frames.ok) return refuseRun(frames.error, requestId);
  const seen = seenText(read.after);
  const turn = openTurn(frames.value, { runId: read.run, from, follow: true, whole: true, seen });
  // A client that comes back has a state that nobody here knows: the next change tells it whole.
  const state = read.after < 0 ? view.value.state : null;
  const writer = new RunWriter({ ...read, state, seen });
  const close = async (): Promise<void> => turn.close();
  const body = toSse(toBlocks(turn, writer, read), { left: close, cut: close });
  const headers = { ...SSE_HEADERS, "x-holdfast-thread": place.thread, "x-holdfast-run": read.run };
  return new Response(body, { headers });
}

async function* toBlocks(
  turn: OpenTurn,
  writer: RunWriter,
  { after, run }: { readonly after: number; readonly run: string },
): AsyncGenerator<string, void, undefined> {
  let told = after;
  const unseen = function* (items: ReturnType<RunWriter["read"]>): Generator<string> {
    for (const item of items) {
      // That it broke off has no place in the log: whoever goes on from here misses nothing.
      const left = isBrokenOff(item) ? { ...item, number: told } : behind(item, after);
      if (left === null) continue;
      told = left.number;
      yield toBlock(left, run);
    }
  };
  yield* unseen(writer.begin());
  for await (const item of turn.items as AsyncIterable<TurnItem>) yield* unseen(writer.read(item));
}
