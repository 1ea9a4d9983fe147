/**
 * Holdfast's client for browsers and Node: everything goes over the REST API, nothing is kept but the options, and there is
 * no dependency (P110).
 */
import { AgentClient } from "./agent.ts";
import { Http, type CallOptions, type ClientOptions, type WriteOptions } from "./http.ts";
import type {
  Agent,
  AnyAgent,
  InboxItem,
  Page,
  PageOptions,
  Principal,
  Budget,
  Lease,
  SpendGroup,
  SpendItem,
  ThreadItem,
  Ticket,
  UntypedAgent,
  UserToken,
} from "./types.ts";

export type { ClientOptions };

/** Sums of spend: by what, of what, and of which days (UTC). */
export interface SpendOptions extends CallOptions, PageOptions<string> {
  readonly groupBy?: SpendGroup | readonly SpendGroup[];
  readonly from?: string;
  readonly to?: string;
  readonly agent?: string;
  readonly thread?: string;
  readonly user?: string;
}

export class Holdfast {
  readonly #http: Http;

  constructor(options: ClientOptions) {
    this.#http = new Http(options);
  }

  /** `agent<typeof weather>("weather")` types its tools and its output (P117). Nothing is asked yet. */
  agent<A extends AnyAgent = UntypedAgent>(name: string): AgentClient<A> {
    return new AgentClient(this.#http, name);
  }

  async agents(options: CallOptions = {}): Promise<readonly Agent[]> {
    return (await this.#http.json<{ items: readonly Agent[] }>("/agents", options)).items;
  }

  /** Whom the key stands for, and what it may do. */
  me(options: CallOptions = {}): Promise<Principal> {
    return this.#http.json("/me", options);
  }

  /** Conversations of all agents, newest first. */
  threads(options: CallOptions & PageOptions<string> = {}): Promise<Page<ThreadItem, string>> {
    const { after, limit, ...call } = options;
    return this.#http.json("/threads", { ...call, query: { after, limit } });
  }

  /** What waits for a person, in all conversations. It may lag by seconds; a thread's own `approvals` does not. */
  inbox(
    options: CallOptions & PageOptions<string> & { readonly state?: "open" | "all" } = {},
  ): Promise<Page<InboxItem, string>> {
    const { after, limit, state, ...call } = options;
    return this.#http.json("/approvals", { ...call, query: { after, limit, state } });
  }

  spend(options: SpendOptions = {}): Promise<Page<SpendItem, string>> {
    return this.#http.json("/spend", toSpendRequest(options));
  }

  /** What may be spent, and what is spent, held and left of it. For who may operate. */
  async budgets(options: CallOptions = {}): Promise<readonly Budget[]> {
    const { items } = await this.#http.json<{ items: readonly Budget[] }>("/budgets", options);
    return items;
  }

  /** Which runs hold how much of the budgets. */
  async leases(options: CallOptions = {}): Promise<readonly Lease[]> {
    const { items } = await this.#http.json<{ items: readonly Lease[] }>("/ledger/leases", options);
    return items;
  }

  async spendCsv(options: SpendOptions = {}): Promise<Blob> {
    return (await this.#http.send("/spend.csv", toSpendRequest(options))).blob();
  }

  /** Opens one socket of a thread, within a minute. */
  ticket(
    place: { readonly agent: string; readonly thread: string },
    options: CallOptions = {},
  ): Promise<Ticket> {
    const { agent, thread } = place;
    return this.#http.json("/tickets", { ...options, method: "POST", json: { agent, thread } });
  }

  /** A token that a browser may hold, for one of your users. */
  mintToken(
    token: { readonly user: string; readonly ttlSeconds?: number; readonly scopes?: string[] },
    options: WriteOptions = {},
  ): Promise<UserToken> {
    return this.#http.json("/tokens", { ...options, method: "POST", json: token });
  }
}

function toSpendRequest({ signal, groupBy, ...filters }: SpendOptions) {
  const group = typeof groupBy === "string" ? groupBy : groupBy?.join(",");
  const query = { ...filters, group_by: group };
  return signal === undefined ? { query } : { query, signal };
}

/** Every item of a list: `for await (const run of every((page) => thread.runs(page)))`. */
export async function* every<T>(
  // Whatever the list's positions are: what it answers as `next` is what it takes as `after`.
  list: (page: PageOptions<never>) => Promise<Page<T, unknown>>,
): AsyncGenerator<T, void, undefined> {
  for (let page: PageOptions<never> = { limit: 200 }; ;) {
    const { items, next } = await list(page);
    yield* items;
    if (next === null) return;
    page = { limit: 200, after: next as never };
  }
}
