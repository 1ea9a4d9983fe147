/**
 * PushWork: tells each receiver what its run came to, in order, at least once (P98).
 *
 * A receiver has a place in the log. What lies behind it is told one change of state at a time, and the place moves when the
 * receiver has taken it: a process that dies in between tells it again, under the same id. One receiver that is away holds up
 * no other.
 */
import type { ThreadEvent } from "#kernel/events.ts";
import { isRunEnd, RUN_CHANGES } from "#kernel/run-events.ts";
import type { PushProtocol } from "#ports/push.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import { isDelivered, type PostOutcome, type WebhookSender } from "#ports/webhook-sender.ts";
import type { Json } from "#shared/json.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { PushShelf, type StoredPush } from "./push-shelf.ts";

const PUSHED: ReadonlySet<string> = new Set(RUN_CHANGES);

/** Two days, with the last waits of six hours each. */
const BACKOFF_MS = [
  1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 21_600_000,
  21_600_000, 21_600_000, 21_600_000, 21_600_000,
];
const GONE = 410;
/** Posts of one round; the next alarm goes on. */
const MAX_POSTS = 20;
const PAGE = 200;

export interface PushWorkDeps {
  readonly sender: WebhookSender;
  readonly protocol: PushProtocol;
  /** A receiver is given up: never its address, which may be secret. */
  readonly givenUp: (configId: string) => void;
}

/** One round; answers when the next is due, null when there is nothing to wait for. */
export async function pushRound(host: ThreadHost, deps: PushWorkDeps): Promise<number | null> {
  const shelf = new PushShelf(host.storage.database);
  let posts = 0;
  for (const push of shelf.live()) {
    let current: StoredPush | null = push;
    while (current !== null && current.notBefore <= host.now && posts < MAX_POSTS) {
      if (host.isErasing()) return null;
      posts += 1;
      current = await tellNext(host, deps, current);
    }
  }
  return nextDue(host, shelf.live());
}

/** Null when there is nothing to tell this one now. */
async function tellNext(
  host: ThreadHost,
  deps: PushWorkDeps,
  push: StoredPush,
): Promise<StoredPush | null> {
  const shelf = new PushShelf(host.storage.database);
  const next = nextChange(host, deps.protocol, push);
  if (next === null) return null;
  const { event, message } = next;
  const seq = event.header.seq;
  const isLast = isRunEnd(event.type);
  if (message === null) {
    const passed = { ...push, seq, over: isLast };
    shelf.advance(push, passed);
    return isLast ? null : passed;
  }
  const { post, state } = message;
  const id = `${event.header.id}.${push.configId}`;
  const outcome = await deps.sender.post({
    ...post,
    headers: { ...post.headers, "webhook-id": id },
  });
  const after = isDelivered(outcome)
    ? { ...push, seq, state, failed: 0, notBefore: 0, over: isLast }
    : afterFailure(push, outcome, host.now);
  shelf.advance(push, after);
  if (after.over && !isDelivered(outcome)) deps.givenUp(push.configId);
  return after.over ? null : after;
}

/** The next event behind the receiver's place that may tell it something. */
function nextChange(host: ThreadHost, protocol: PushProtocol, push: StoredPush) {
  const run = host.runs.get(push.runId);
  if (run === null) return null;
  const events: EventView[] = [];
  const place = { ...host.address, run: push.runId };
  const { origin, target } = push;
  for (let from = Math.max(run.startSeq, host.log.base().seq + 1); ;) {
    const page = host.log.read({ from, limit: PAGE });
    for (const event of page) {
      if (event.header.run !== push.runId) continue;
      events.push(toView(event));
      if (event.header.seq <= push.seq || !PUSHED.has(event.type)) continue;
      const message = protocol.encode({ place, origin, events, target });
      // Where the state is as it was told, there is nothing to tell.
      const isNews = message !== null && message.state !== push.state;
      if (isNews || isRunEnd(event.type)) return { event, message: isNews ? message : null };
    }
    const last = page.at(-1);
    if (last === undefined) return null;
    from = last.header.seq + 1;
  }
}

function toView({ header, hash, payload }: ThreadEvent): EventView {
  return { header, hash, payload: payload as Json };
}

function afterFailure(push: StoredPush, outcome: PostOutcome, now: number): StoredPush {
  const wait = BACKOFF_MS[push.failed];
  const isFinal =
    wait === undefined ||
    (outcome.type === "failed" ? outcome.reason === "address_refused" : outcome.status === GONE);
  if (isFinal) return { ...push, over: true };
  const asked = outcome.type === "answered" ? (outcome.retryAfterMs ?? 0) : 0;
  return { ...push, failed: push.failed + 1, notBefore: now + Math.max(wait, asked) };
}

/** Receivers that have failed are tried again; others wait for the next event. */
function nextDue({ now }: ThreadHost, live: readonly StoredPush[]): number | null {
  const due = live.filter(({ failed }) => failed > 0).map(({ notBefore }) => notBefore);
  return due.length === 0 ? null : Math.max(now, Math.min(...due));
}
