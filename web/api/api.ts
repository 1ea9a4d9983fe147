/** What the page asks of the API, by name. */
import { createCall, ProblemError, type Call } from "./http.ts";
import type {
  Agent,
  Approval,
  Branch,
  Decision,
  Delivery,
  Explanation,
  InboxItem,
  Me,
  Place,
  Run,
  SpendGroup,
  SpendItem,
  Thread,
  ThreadItem,
  Verification,
  WorkspaceFile,
} from "./types.ts";

interface Page<T, N> {
  readonly items: readonly T[];
  readonly next: N | null;
}
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

const at = ({ agent, thread }: Place): string => `/agents/${agent}/threads/${thread}`;
const filePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

export class Api {
  readonly #call: Call;

  constructor(token: string, onRefused: () => void) {
    this.#call = createCall(token, onRefused);
  }

  async #json<T>(...request: Parameters<Call>): Promise<T> {
    const response = await this.#call(...request);
    // The server's documents are typed by the schemas that made them.
    return (await response.json()) as T;
  }

  async agents(): Promise<readonly Agent[]> {
    return (await this.#json<{ items: readonly Agent[] }>("/agents")).items;
  }

  me(): Promise<Me> {
    return this.#json("/me");
  }

  threads(after: string | null): Promise<Page<ThreadItem, string>> {
    const query = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    return this.#json(`/threads?limit=30${query}`);
  }

  createThread(agent: string, title: string): Promise<Thread> {
    return this.#json(`/agents/${agent}/threads`, { method: "POST", json: { title } });
  }

  async ticket(place: Place, signal: AbortSignal): Promise<string> {
    const request = { method: "POST", json: place, signal } as const;
    return (await this.#json<{ ticket: string }>("/tickets", request)).ticket;
  }

  /** Null for a thread that is not there yet. */
  async threadData(place: Place): Promise<ThreadData | null> {
    const path = at(place);
    try {
      const [thread, runs, approvals, files, branches] = await Promise.all([
        this.#json<Thread>(path),
        this.#all<Run>(`${path}/runs`),
        this.#all<Approval>(`${path}/approvals`),
        this.files(place),
        this.#json<{ items: readonly Branch[] }>(`${path}/branches`),
      ]);
      return { thread, runs, approvals, files, branches: branches.items };
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return null;
      throw error;
    }
  }

  async #all<T>(path: string): Promise<readonly T[]> {
    const items: T[] = [];
    for (let after: number | null = 0; after !== null;) {
      const page: Page<T, number> = await this.#json(`${path}?limit=200&after=${after}`);
      items.push(...page.items);
      after = page.next;
    }
    return items;
  }

  async send(place: Place, text: string, delivery: Delivery): Promise<void> {
    await this.#call(`${at(place)}/messages`, { method: "POST", json: { text, delivery } });
  }
  /** Ends the run that is active now, whichever that is. */
  async cancelActive(place: Place): Promise<void> {
    const { activeRun } = await this.#json<Thread>(at(place));
    if (activeRun === null) return;
    await this.#call(`${at(place)}/runs/${activeRun}/cancel`, { method: "POST" });
  }
  async decide(place: Place, approvalId: string, decision: Decision): Promise<void> {
    const path = `${at(place)}/approvals/${approvalId}/decision`;
    await this.#call(path, { method: "POST", json: decision });
  }
  /** What waits in all conversations; at most as many as one page holds. */
  inbox(): Promise<Page<InboxItem, string>> {
    return this.#json("/approvals?limit=200");
  }
  async halt(place: Place, reason: string): Promise<void> {
    const json = reason === "" ? {} : { reason };
    await this.#call(`${at(place)}/halt`, { method: "POST", json });
  }
  async resume(place: Place): Promise<void> {
    await this.#call(`${at(place)}/resume`, { method: "POST", json: {} });
  }

  /** Some steps of a run; `next` of the answer goes on. */
  explain(place: Place, run: string, after: number): Promise<Explanation> {
    return this.#json(`${at(place)}/runs/${run}/explain?after=${after}`);
  }
  verify(place: Place, after: number): Promise<Verification> {
    return this.#json(`${at(place)}/verify?after=${after}`);
  }
  spend(request: SpendRequest): Promise<Page<SpendItem, string>> {
    return this.#json(`/spend?${toQuery(request)}&limit=1000`);
  }
  async spendCsv(request: SpendRequest): Promise<Blob> {
    return (await this.#call(`/spend.csv?${toQuery(request)}`)).blob();
  }

  async selectBranch(place: Place, branch: string): Promise<void> {
    await this.#call(`${at(place)}/branches/${branch}/select`, { method: "POST" });
  }

  async files(place: Place): Promise<readonly WorkspaceFile[]> {
    const list = await this.#json<{ items: readonly WorkspaceFile[] }>(`${at(place)}/files`);
    return list.items;
  }
  async upload(place: Place, path: string, body: Blob): Promise<void> {
    await this.#call(`${at(place)}/files/${filePath(path)}`, { method: "PUT", body });
  }
  async download(place: Place, path: string): Promise<Blob> {
    return (await this.#call(`${at(place)}/files/${filePath(path)}`)).blob();
  }
  async deleteFile(place: Place, path: string): Promise<void> {
    await this.#call(`${at(place)}/files/${filePath(path)}`, { method: "DELETE" });
  }
}

function toQuery({ groupBy, from }: SpendRequest): string {
  return `group_by=${groupBy}${from === null ? "" : `&from=${from}`}`;
}
