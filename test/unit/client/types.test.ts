/** What the compiler knows of an agent through its client. The checks are those of `npm run types`; running them asks nothing. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { Holdfast } from "#client/client.ts";
import type { CallOf, OutputOf, StreamItem, ToolNameOf, UntypedAgent } from "#client/types.ts";
import type { weatherAgent } from "#test/support/weather-agent.ts";
import type { Json, JsonObject } from "#shared/json.ts";

type Weather = typeof weatherAgent;
const client = new Holdfast({ url: "http://127.0.0.1", key: "hf_test" });

describe("an agent's types in its client", () => {
  it("[P117] name the tools and their arguments, as they are after parsing", () => {
    expectTypeOf<ToolNameOf<Weather>>().toEqualTypeOf<"forecast" | "alarm">();
    type Forecast = Extract<CallOf<Weather>, { readonly name: "forecast" }>;
    expectTypeOf<Forecast["args"]>().toEqualTypeOf<{ city: string; days: number }>();
    const told = (item: StreamItem<Weather>): string => {
      if (item.type !== "tool.started" || item.payload === null) return "";
      // @ts-expect-error: which arguments there are depends on the name.
      void item.payload.args.city;
      if (item.payload.name === "forecast") return item.payload.args.city;
      // @ts-expect-error: only a forecast has days.
      void item.payload.args.days;
      return item.payload.args.region;
    };
    expect(told).toBeTypeOf("function");
  });

  it("[P117] type the answer: the agent's own, what a message asks for, or nothing", () => {
    expectTypeOf<OutputOf<Weather>>().toEqualTypeOf<{ city: string; celsius: number }>();
    const thread = client.agent<Weather>("weather").thread("t");
    const own = async () => (await thread.send("Oslo?")).output();
    expectTypeOf(own).returns.resolves.toEqualTypeOf<{ city: string; celsius: number }>();
    const output = { name: "n", schema: {}, parse: (value: unknown) => Number(value) };
    const asked = async () => (await (await thread.send("How many?", { output })).result()).output;
    expectTypeOf(asked).returns.resolves.toEqualTypeOf<number | null>();
    const untyped = async () => (await client.agent("x").thread("t").send("?")).output();
    expectTypeOf(untyped).returns.resolves.toEqualTypeOf<Json>();
  });

  it("[P117] are wide where the agent's type is not known", () => {
    expectTypeOf<ToolNameOf<UntypedAgent>>().toEqualTypeOf<string>();
    expectTypeOf<CallOf<UntypedAgent>["args"]>().toEqualTypeOf<JsonObject>();
  });
});
