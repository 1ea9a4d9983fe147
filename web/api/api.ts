/** What the page asks of the API, by name, through the client that everybody else uses (P119). */
import { every, Holdfast } from "#client/client.ts";
import { HoldfastError } from "#client/errors.ts";
import type { ThreadClient } from "#client/thread.ts";
import type {
  Agent,
  Approval,
  Branch,
  Budget,
  Erasure,
  Lease,
  Decision,
  Delivery,
  Explanation,
  InboxItem,
  Page,
  Run,
  Schedule,
  SpendItem,
  Thread,
  ThreadItem,
  UntypedAgent,
  Verification,
  WorkspaceFile,
} from "#client/types.ts";
import type { Me, Place, SpendGroup } from "./types.ts";

export interface ThreadData {
  readonly thread: Thread;
  readonly runs: readonly Run[];
  readonly approvals: readonly Approval[];
  readonly files: readonly WorkspaceFile[];
  readonly branches: readonly Branch[];
}

/** What is asked of the sums of spend: by what, and from which day (UTC) on. */
export interface SpendRequest {
  readonly groupBy: SpendGroup;
  readonly from: string | null;
}

/** The page shows what went wrong and goes on by itself, so nobody waits for a long row of attempts. */
const RETRY = { attempts: 2 };

export class Api {
  readonly #client: Holdfast;

  constructor(token: string, onRefused: () => void) {
    this.#client = new Holdfast({
      url: location.origin,
      key: token,
      retry: RETRY,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (response.status === 401) onRefused();
        return response;
      },
    });
  }

  agents(): Promise<readonly Agent[]> {
    return this.#client.agents();
  }

  me(): Promise<Me> {
    return this.#client.me();
  }

  threads(after: string | null): Promise<Page<ThreadItem, string>> {
    return this.#client.threads({ limit: 30, ...(after === null ? {} : { after }) });
  }

  async createThread(agent: string, title: string): Promise<string> {
    return (await this.#client.agent(agent).createThread({ title })).id;
  }

  async ticket(place: Place, signal: AbortSignal): Promise<string> {
    return (await this.#client.ticket(place, { signal })).ticket;
  }

  /** Null for a thread that is not there yet. */
  async threadData(place: Place): Promise<ThreadData | null> {
    const at = this.#at(place);
    try {
      const [thread, runs, approvals, files, branches] = await Promise.all([
        at.get(),
        allOf(every((page) => at.runs(page))),
        allOf(every((page) => at.approvals(page))),
        at.files.list(),
        at.branches(),
      ]);
      return { thread, runs, approvals, files, branches };
    } catch (error) {
      if (error instanceof HoldfastError && error.status === 404) return null;
      throw error;
    }
  }

  async send(place: Place, text: string, delivery: Delivery): Promise<void> {
    await this.#at(place).send(text, { delivery });
  }
  /** Ends the run that is active now, whichever that is. */
  async cancelActive(place: Place): Promise<void> {
    const at = this.#at(place);
    const { activeRun } = await at.get();
    if (activeRun !== null) await at.run(activeRun).cancel();
  }
  async decide(place: Place, approvalId: string, decision: Decision): Promise<void> {
    await this.#at(place).decide(approvalId, decision);
  }
  /** What waits in all conversations; at most as many as one page holds. */
  inbox(): Promise<Page<InboxItem, string>> {
    return this.#client.inbox({ limit: 200 });
  }
  async halt(place: Place, reason: string): Promise<void> {
    await this.#at(place).halt(reason === "" ? {} : { reason });
  }
  async resume(place: Place): Promise<void> {
    await this.#at(place).resume();
  }

  /** Some steps of a run; `next` of the answer goes on. */
  explain(place: Place, run: string, after: number): Promise<Explanation> {
    return this.#at(place).run(run).explain({ after });
  }
  verify(place: Place, after: number): Promise<Verification> {
    return this.#at(place).verify({ after });
  }
  spend(request: SpendRequest): Promise<Page<SpendItem, string>> {
    return this.#client.spend({ ...toSpendOptions(request), limit: 1_000 });
  }
  spendCsv(request: SpendRequest): Promise<Blob> {
    return this.#client.spendCsv(toSpendOptions(request));
  }

  budgets(): Promise<readonly Budget[]> {
    return this.#client.budgets();
  }
  leases(): Promise<readonly Lease[]> {
    return this.#client.leases();
  }
  erase(place: Place): Promise<Erasure> {
    return this.#at(place).erase();
  }

  schedules(place: Place): Promise<readonly Schedule[]> {
    return this.#at(place).schedules.list();
  }
  async holdSchedule(place: Place, id: string, paused: boolean): Promise<void> {
    const { schedules } = this.#at(place);
    await (paused ? schedules.pause(id) : schedules.resume(id));
  }
  async fireSchedule(place: Place, id: string): Promise<void> {
    await this.#at(place).schedules.fire(id);
  }
  async deleteSchedule(place: Place, id: string): Promise<void> {
    await this.#at(place).schedules.delete(id);
  }

  async selectBranch(place: Place, branch: string): Promise<void> {
    await this.#at(place).selectBranch(branch);
  }

  files(place: Place): Promise<readonly WorkspaceFile[]> {
    return this.#at(place).files.list();
  }
  async upload(place: Place, path: string, body: Blob): Promise<void> {
    await this.#at(place).files.write(path, body);
  }
  download(place: Place, path: string): Promise<Blob> {
    return this.#at(place).files.read(path);
  }
  async deleteFile(place: Place, path: string): Promise<void> {
    await this.#at(place).files.delete(path);
  }

  #at({ agent, thread }: Place): ThreadClient<UntypedAgent> {
    return this.#client.agent(agent).thread(thread);
  }
}

function toSpendOptions({ groupBy, from }: SpendRequest) {
  return from === null ? { groupBy } : { groupBy, from };
}

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
