/**
 * The REST API as this client uses it. A server that is away is waited for, because its work goes on when it returns:
 * every request here is safe to repeat, the ones that write carry an idempotency key.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 2000;
/** A proxy in front of a server that is just restarting answers these. */
const AWAY = new Set([502, 503, 504]);

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? null;
  }
}

export class Api {
  #options;
  #notify;

  /** `notify(away)` is told when the server goes away and when it is back. */
  constructor(options, notify) {
    this.#options = options;
    this.#notify = notify;
  }

  #threadPath(thread) {
    return `/v1/agents/${encodeURIComponent(this.#options.agent)}/threads/${encodeURIComponent(thread)}`;
  }

  async openThread(thread) {
    const path = this.#threadPath(thread);
    try {
      return await this.#json("GET", path);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
    const collection = path.slice(0, path.lastIndexOf("/"));
    return this.#json("POST", collection, { json: { id: thread } });
  }

  upload(thread, name, bytes) {
    const path = name.split("/").map(encodeURIComponent).join("/");
    return this.#json("PUT", `${this.#threadPath(thread)}/files/${path}`, { bytes });
  }

  files(thread) {
    return this.#json("GET", `${this.#threadPath(thread)}/files`);
  }

  send(thread, text) {
    const { delivery } = this.#options;
    const json = { text, delivery, messageId: `msg-${randomUUID()}` };
    return this.#json("POST", `${this.#threadPath(thread)}/messages`, { json });
  }

  run(thread, runId) {
    return this.#json("GET", `${this.#threadPath(thread)}/runs/${runId}`);
  }

  cancel(thread, runId) {
    return this.#json("POST", `${this.#threadPath(thread)}/runs/${runId}/cancel`, { json: {} });
  }

  regenerate(thread, messageId) {
    return this.#json("POST", `${this.#threadPath(thread)}/messages/${messageId}/regenerate`);
  }

  clear(thread) {
    return this.#json("POST", `${this.#threadPath(thread)}/clear`);
  }

  /** Oldest first, one page: more than anybody decides at a prompt. None where there is no such thread yet. */
  async openApprovals(thread) {
    try {
      return await this.#json("GET", `${this.#threadPath(thread)}/approvals?state=open`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return { items: [], next: null };
      throw error;
    }
  }

  /** Path of the stream of a run from after an event on. */
  streamOf(thread, runId, afterSeq) {
    return `${this.#threadPath(thread)}/events?run=${runId}&from=${afterSeq}&deltas=1`;
  }

  approvalPath(thread, id) {
    return `${this.#threadPath(thread)}/approvals/${id}`;
  }

  decide(thread, id, decision) {
    return this.#json("POST", `${this.approvalPath(thread, id)}/decision`, { json: decision });
  }

  /** The response of an event stream, continued after `lastEventId`. */
  openStream(path, lastEventId, signal) {
    const headers = { accept: "text/event-stream" };
    if (lastEventId !== null) headers["last-event-id"] = lastEventId;
    return this.#request("GET", path, { headers, signal });
  }

  async #json(method, path, options = {}) {
    const response = await this.#request(method, path, options);
    return response.json();
  }

  async #request(method, path, { json, bytes, headers = {}, signal } = {}) {
    const body = json === undefined ? bytes : JSON.stringify(json);
    const type = json === undefined ? "application/octet-stream" : "application/json";
    const init = {
      method,
      signal,
      headers: {
        authorization: `Bearer ${this.#options.key}`,
        ...(method === "GET" ? {} : { "idempotency-key": randomUUID() }),
        ...(body === undefined ? {} : { "content-type": type }),
        ...headers,
      },
      body,
    };
    const response = await this.#untilAnswered(path, init);
    if (response.ok) return response;
    const text = await response.text();
    throw new ApiError(response.status, parseProblem(text));
  }

  async #untilAnswered(path, init) {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      try {
        const response = await fetch(this.#options.url() + path, init);
        if (!AWAY.has(response.status)) {
          this.#notify(false);
          return response;
        }
        await response.arrayBuffer();
      } catch (error) {
        if (init.signal?.aborted) throw error;
      }
      this.#notify(true);
      await sleep(wait, undefined, { signal: init.signal ?? undefined });
    }
  }
}

function parseProblem(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 300) };
  }
}
