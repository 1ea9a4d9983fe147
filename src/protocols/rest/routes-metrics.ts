/** Metrics over REST: the counters and health of the caller's tenant, as Prometheus text or as JSON (H56). */
import type { RestContext, RestDeps } from "./context.ts";
import { toFamilies } from "./metric-families.ts";
import { PROMETHEUS_TYPE, toPrometheus } from "./prometheus.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery } from "./wire.ts";
import { MetricsDoc } from "./wire-metrics.ts";

const HOUR_MS = 3_600_000;

export function addMetricsRoutes(router: Router, { metrics, clock }: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: "/metrics",
    id: "getMetrics",
    tag: "metrics",
    summary:
      "Counters and health of the tenant as Prometheus text; with Accept: application/json as JSON",
    scope: "operate",
    params: NoParams,
    query: NoQuery,
    responses: {
      200: {
        description: "Success.",
        content: {
          "text/plain": { schema: { type: "string" } },
          "application/json": { schema: MetricsDoc },
        },
      },
    },
    handle: async ({ c, principal }) => {
      const at = clock.now();
      const snapshot = await metrics.read(principal.tenant, Math.floor(at / HOUR_MS));
      const families = toFamilies(snapshot, at);
      if (acceptsJson(c)) return Response.json({ at, families, stalled: snapshot.stalled });
      return new Response(toPrometheus(families), { headers: { "content-type": PROMETHEUS_TYPE } });
    },
  });
}

function acceptsJson(c: RestContext): boolean {
  const types = (c.req.header("accept") ?? "").split(",").map((entry) => entry.split(";")[0]);
  return types.some((type) => type?.trim().toLowerCase() === "application/json");
}
