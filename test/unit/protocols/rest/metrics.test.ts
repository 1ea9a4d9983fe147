/** Metrics over REST: who may ask, and that text and JSON say the same. */
import { describe, expect, it } from "vitest";
import { toPrometheus } from "#protocols/rest/prometheus.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";
import { createTestApp, keyText, problemOf, SERVICE_SCOPES } from "#test/support/test-app.ts";

const HOUR_MS = 3_600_000;
interface Metrics {
  readonly at: number;
  readonly families: readonly {
    readonly name: string;
    readonly samples: readonly { readonly labels: object; readonly value: number }[];
  }[];
  readonly stalled: readonly object[];
}

async function setUp() {
  const app = createTestApp();
  const place = { tenant: trusted<TenantId>("acme"), agent: trusted<AgentName>("analyst") };
  const now = app.clock.now();
  await app.metrics.add({
    ...place,
    logId: "log_1",
    from: 0,
    to: 9,
    entries: [
      { counter: "runs", label: "started", value: 5 },
      { counter: "runs", label: "completed", value: 3 },
      { counter: "runs", label: "failed", value: 1 },
      { counter: "guard_stops", label: "cycle_2", value: 1 },
    ],
  });
  await app.metrics.report({
    address: { ...place, thread: trusted<ThreadId>("t1") },
    logId: "log_1",
    wakes: 40,
    hour: Math.floor(now / HOUR_MS),
    wakesInHour: 12,
    trips: 1,
    stalledWakes: 14,
    stalledSince: now - 60_000,
    lagEvents: 3,
    lagSince: now - 5_500,
  });
  const text = async (): Promise<string> => (await app.call("GET", "/v1/metrics")).text();
  const json = async (as = keyText("a")): Promise<Metrics> =>
    (await app.call("GET", "/v1/metrics", { as, headers: { accept: "application/json" } })).json();
  return { ...app, text, json, now };
}

describe("GET /v1/metrics", () => {
  it("[H56] is Prometheus text by default", async () => {
    const { call, text } = await setUp();
    const response = await call("GET", "/v1/metrics", { headers: { accept: "*/*" } });
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await text()).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "# TYPE holdfast_runs_total counter",
        'holdfast_runs_total{agent="analyst",status="started"} 5',
        'holdfast_runs_active{agent="analyst"} 1',
        'holdfast_guard_stops_total{agent="analyst",pattern="cycle_2"} 1',
        'holdfast_wakes_total{agent="analyst"} 40',
        'holdfast_wakes_this_hour_max{agent="analyst"} 12',
        'holdfast_wake_breaker_open_threads{agent="analyst"} 1',
        'holdfast_outbox_lag_seconds{agent="analyst"} 5',
        "# TYPE holdfast_steps_total counter",
      ]),
    );
    expect(lines.at(-1)).toBe("");
    // A name and labels, then a number: nothing else is a sample.
    for (const line of lines.slice(0, -1))
      expect(line).toMatch(/^(# (HELP|TYPE) holdfast_\w+ .+|holdfast_\w+\{[^{}]+\} \d+)$/);
  });

  it("[H56] says the same as JSON, and which threads get nowhere", async () => {
    const { json, text, now } = await setUp();
    const { families, stalled, at } = await json();
    expect(at).toBe(now);
    const samples = families.flatMap(({ name, samples: own }) =>
      own.map(({ labels, value }) => {
        const pairs = Object.entries(labels).map(([key, label]) => `${key}="${label}"`);
        return `${name}{${pairs.join(",")}} ${value}`;
      }),
    );
    const lines = (await text()).split("\n").filter((line) => line !== "" && line[0] !== "#");
    expect(samples).toEqual(lines);
    expect(stalled).toEqual([{ agent: "analyst", thread: "t1", wakes: 14, since: now - 60_000 }]);
  });

  it("[H53] wakes of an hour that is over are no longer its rate", async () => {
    const { clock, text } = await setUp();
    clock.advance(HOUR_MS);
    expect(await text()).toContain('holdfast_wakes_this_hour{agent="analyst"} 0\n');
    expect(await text()).toContain('holdfast_wakes_total{agent="analyst"} 40\n');
  });

  it("[H56][Z5] needs the scope operate, and shows another tenant nothing", async () => {
    const { addKey, call, json, mint } = await setUp();
    const without = keyText("r");
    addKey(without, { scopes: SERVICE_SCOPES.filter((scope) => scope !== "operate") });
    for (const as of [without, await mint("u1")]) {
      const refused = await call("GET", "/v1/metrics", { as });
      expect(refused.status).toBe(403);
      expect(await problemOf(refused)).toMatchObject({ context: { scope: "operate" } });
    }
    const { families, stalled } = await json(keyText("z"));
    expect(families.flatMap(({ samples }) => samples)).toEqual([]);
    expect(stalled).toEqual([]);
  });
});

describe("toPrometheus", () => {
  it("[H56] escapes what would end a label or a line", () => {
    const samples = [{ labels: { agent: 'a"b\\c\nd' }, value: 1 }];
    expect(toPrometheus([{ name: "x", type: "gauge", help: "one\ntwo \\", samples }])).toBe(
      '# HELP x one\\ntwo \\\\\n# TYPE x gauge\nx{agent="a\\"b\\\\c\\nd"} 1\n',
    );
  });
});
