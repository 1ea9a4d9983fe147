/** The REST API under /v1: all routes, and the document that describes them. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { RestDeps, RestEnv } from "./context.ts";
import type { Router } from "./route.ts";
import { closeRouter } from "./route.ts";
import { addAgentVersionRoutes } from "./routes-agent-versions.ts";
import { addAgentRoutes } from "./routes-agents.ts";
import { addApprovalRoutes } from "./routes-approvals.ts";
import { addAuditRoutes } from "./routes-audit.ts";
import { addErasureRoutes } from "./routes-erasure.ts";
import { addEventRoutes } from "./routes-events.ts";
import { addFileRoutes } from "./routes-files.ts";
import { addHookRoutes } from "./routes-hooks.ts";
import { addHaltRoutes } from "./routes-halt.ts";
import { addBranchRoutes } from "./routes-branches.ts";
import { addMessageRoutes, addRunRoutes } from "./routes-messages.ts";
import { addBudgetRoutes } from "./routes-budgets.ts";
import { addMetricsRoutes } from "./routes-metrics.ts";
import { addPriceRoutes } from "./routes-prices.ts";
import { addRetentionRoutes } from "./routes-retention.ts";
import { addScheduleRoutes } from "./routes-schedules.ts";
import { addSpendRoutes } from "./routes-spend.ts";
import { addThreadRoutes } from "./routes-threads.ts";
import { addWebhookRoutes } from "./routes-webhooks.ts";
import { addTicketRoutes } from "./routes-tickets.ts";

export interface RestApi {
  readonly api: OpenAPIHono<RestEnv>;
  /** Built on first use: most isolates never serve it. */
  readonly openApi: () => object;
}

export function createRestApi(deps: RestDeps): RestApi {
  const api = new OpenAPIHono<RestEnv>();
  const router: Router = { api, methods: new Map(), limits: deps.limits };
  addAgentRoutes(router, deps);
  addAgentVersionRoutes(router, deps);
  addThreadRoutes(router, deps);
  addMessageRoutes(router, deps);
  addRunRoutes(router, deps);
  addBranchRoutes(router, deps);
  addEventRoutes(router, deps);
  addErasureRoutes(router, deps);
  addFileRoutes(router, deps);
  addHaltRoutes(router, deps);
  addScheduleRoutes(router, deps);
  addHookRoutes(router, deps);
  addWebhookRoutes(router, deps);
  addTicketRoutes(router, deps);
  addApprovalRoutes(router, deps);
  addAuditRoutes(router, deps);
  addSpendRoutes(router, deps);
  addMetricsRoutes(router, deps);
  addPriceRoutes(router, deps);
  addRetentionRoutes(router, deps);
  addBudgetRoutes(router, deps);
  closeRouter(router);
  api.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An API key `hf_...`, or a user token from POST /tokens.",
  });
  let document: object | null = null;
  return { api, openApi: () => (document ??= toDocument(api)) };
}

function toDocument(api: OpenAPIHono<RestEnv>): object {
  return api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Holdfast",
      version: "1",
      description:
        "Durable agents over HTTP. Every error is a problem document (RFC 9457); match on its `code`. " +
        "Writes take an Idempotency-Key. Streams resume from Last-Event-ID.",
      license: { name: "MIT" },
    },
    servers: [{ url: "/v1" }],
  });
}
