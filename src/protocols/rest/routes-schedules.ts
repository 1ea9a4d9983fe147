/** Schedules of a thread (P120 to P129). Those of an agent are those of its thread `main`. */
import { findAgent } from "#auth/known-agents.ts";
import { toCaller } from "#auth/principal.ts";
import { answer, refuse, type RestDeps } from "./context.ts";
import { encodeMessageReceipt } from "./encode.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { MessageReceiptDoc, NoQuery, ReceiptDoc, ThreadParams } from "./wire.ts";
import { ScheduleBody, ScheduleDoc, ScheduleListDoc, ScheduleParams } from "./wire-schedules.ts";

const LIST = "/agents/{agent}/threads/{thread}/schedules";
const ONE = `${LIST}/{schedule}`;

export function addScheduleRoutes(router: Router, deps: RestDeps): void {
  addReads(router, deps);
  addHolds(router, deps);
  addRoute(router, {
    method: "put",
    path: ONE,
    id: "putSchedule",
    tag: "schedules",
    summary:
      "Create or change a schedule; creates the thread when there is none. The same again changes nothing",
    scope: "threads:write",
    params: ScheduleParams,
    query: NoQuery,
    body: { schema: ScheduleBody },
    responses: json(200, ScheduleDoc),
    handle: async ({ c, principal, params, body }) => {
      if ((await findAgent(deps, { ...principal, agent: params.agent })) === null)
        return refuse(c, failure("agent_unknown"));
      const caller = toCaller(principal);
      const request = { ...body, scheduleId: params.schedule };
      return answer(c, await deps.threads.putSchedule(caller, params, request), (view) => view);
    },
  });
  addRoute(router, {
    method: "delete",
    path: ONE,
    id: "deleteSchedule",
    tag: "schedules",
    summary: "Delete a schedule; runs that it began go on",
    scope: "threads:write",
    params: ScheduleParams,
    query: NoQuery,
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.dropSchedule(caller, params.schedule), (receipt) => receipt);
    },
  });
  addRun(router, deps);
}

function addRun(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: `${ONE}/run`,
    id: "runSchedule",
    tag: "schedules",
    summary: "Fire now, beside the timetable, which stays as it is",
    scope: "threads:write",
    params: ScheduleParams,
    query: NoQuery,
    idempotent: true,
    startsRun: true,
    responses: json(202, MessageReceiptDoc, "Accepted and durable."),
    handle: async ({ c, principal, params, idempotencyKey }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      const fired = await stub.fireSchedule(caller, params.schedule, idempotencyKey);
      if (!fired.ok) return refuse(c, fired.error);
      const receipt = encodeMessageReceipt(params, fired.value);
      const headers = { location: receipt.run ?? receipt.stream };
      return Response.json(receipt, { status: 202, headers });
    },
  });
}

function addReads(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: LIST,
    id: "listSchedules",
    tag: "schedules",
    summary: "List the schedules of a thread, the next one first",
    scope: "threads:read",
    params: ThreadParams,
    query: NoQuery,
    responses: json(200, ScheduleListDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const schedules = await deps.threads.stub(caller, params).viewSchedules(caller);
      return answer(c, schedules, (items) => ({ items }));
    },
  });
  addRoute(router, {
    method: "get",
    path: ONE,
    id: "getSchedule",
    tag: "schedules",
    summary: "Show a schedule. A single time that has fired is gone",
    scope: "threads:read",
    params: ScheduleParams,
    query: NoQuery,
    responses: json(200, ScheduleDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const schedule = await deps.threads
        .stub(caller, params)
        .viewSchedule(caller, params.schedule);
      return answer(c, schedule, (view) => view);
    },
  });
}

function addHolds(router: Router, deps: RestDeps): void {
  for (const verb of ["pause", "resume"] as const) {
    addRoute(router, {
      method: "post",
      path: `${ONE}/${verb}`,
      id: `${verb}Schedule`,
      tag: "schedules",
      summary:
        verb === "pause"
          ? "Fire no more until it is resumed"
          : "Fire again from now on; what was due meanwhile is not made up for",
      scope: "threads:write",
      params: ScheduleParams,
      query: NoQuery,
      responses: json(200, ScheduleDoc),
      handle: async ({ c, principal, params }) => {
        const caller = toCaller(principal);
        const stub = deps.threads.stub(caller, params);
        const held = await stub.holdSchedule(caller, params.schedule, verb === "pause");
        return answer(c, held, (view) => view);
      },
    });
  }
}
