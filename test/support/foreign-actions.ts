/** What somebody may try with the ids of a thread, and what is comparable in the answer. */
import type { Json } from "#shared/json.ts";
import type { Api } from "./api.ts";

interface Action {
  readonly method: string;
  readonly path: string;
  readonly body?: Json;
  readonly accept?: string;
}

/** Every route that names a thread and does not begin one, with the ids of a victim or with made-up ones. */
export function actionsOn(thread: string, runId: string): readonly Action[] {
  const get = (path: string, accept?: string): Action => ({
    method: "GET",
    path: thread + path,
    ...(accept === undefined ? {} : { accept }),
  });
  const SSE = "text/event-stream";
  return [
    get(""),
    get("/state"),
    get("/messages"),
    get("/runs"),
    get(`/runs/${runId}`),
    get("/events"),
    get("/events", SSE),
    get(`/events?run=${runId}`, SSE),
    get("/export"),
    get("/files"),
    get("/files/secret.txt"),
    get("/branches"),
    get("/approvals"),
    get("/approvals/evt_1"),
    {
      method: "POST",
      path: `${thread}/approvals/evt_1/decision`,
      body: { decision: "approve" },
    },
    { method: "PUT", path: `${thread}/state`, body: { taken: true } },
    { method: "DELETE", path: `${thread}/files/secret.txt` },
    { method: "POST", path: `${thread}/runs/${runId}/cancel`, body: { reason: "mine now" } },
    { method: "POST", path: `${thread}/events/1/erase` },
  ];
}

/** Status and body, without the id that differs for every request. */
export async function answer(api: Api, { method, path, body, accept }: Action) {
  const response = await api.fetch(method, path, {
    headers: {
      ...(accept === undefined ? {} : { accept }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { requestId: _, ...rest } = await response.json<Record<string, Json>>();
  return { status: response.status, type: response.headers.get("content-type"), rest };
}
