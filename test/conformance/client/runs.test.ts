/** The client package against the real Worker: runs, results, approvals, files, and the example of the README. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { every, Holdfast } from "#client/client.ts";
import { HoldfastError } from "#client/errors.ts";
import type { FetchPort } from "#client/http.ts";
import type { StreamItem } from "#client/types.ts";
import type { weatherAgent } from "#test/support/weather-agent.ts";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
let client: Holdfast;

beforeAll(async () => {
  server = await startBundled();
  client = new Holdfast({ url: server.url, key: server.key });
});
afterAll(() => server.dispose());

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
const textOf = (items: readonly StreamItem[]): string =>
  items.map((item) => (item.type === "delta" ? item.text : "")).join("");

describe("the client against a server", () => {
  it("[P112] streams a run once, over connections that are cut again and again", async () => {
    // Each body is cut after so many bytes, wherever that is, until none is left to cut.
    const cuts = [1, 300, 900, 2_000, 40, 2_500];
    const cutting: FetchPort = async (url, init) => {
      const response = await fetch(url, init);
      const cut = url.includes("/events") ? cuts.shift() : undefined;
      return cut === undefined ? response : new Response(cutAfter(response, cut), response);
    };
    const shaky = new Holdfast({
      url: server.url,
      key: server.key,
      fetch: cutting,
      retry: { baseDelayMs: 1, attempts: 10 },
    });
    const run = await shaky.agent("obeys").thread().send("slow 40");
    const items = await allOf(run.stream());
    expect(cuts).toEqual([]);
    const words = Array.from({ length: 40 }, (_, at) => `w${at + 1} `).join("");
    expect(textOf(items)).toBe(words);
    const seqs = items.flatMap((item) => ("header" in item ? [item.header.seq] : []));
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    const uncut = await allOf(client.agent("obeys").thread(run.thread.id).run(run.id).stream());
    const behind = uncut.flatMap((item) => ("header" in item ? [item.header.seq] : []));
    expect(seqs).toEqual(behind.filter((seq) => seq > run.receipt!.seq));
    expect((await run.result()).text).toBe(words);
  });

  it("[P118] an agent's own output is what its messages are answered with", async () => {
    const weather = client.agent<typeof weatherAgent>("weather");
    const run = await weather.thread().send('say {"city":"Oslo","celsius":4}');
    const { city, celsius } = await run.output();
    expect({ city, celsius }).toEqual({ city: "Oslo", celsius: 4 });
    // What does not fit is repaired or fails; it never is a result.
    const misfit = await weather.thread().send("say hello");
    await expect(misfit.output()).rejects.toMatchObject({ code: "run_not_active" });
    expect((await misfit.result()).reason).toBe("output_invalid");
  });

  it("[P118] a message that joins a run joins it, and one's own output goes before the agent's", async () => {
    const thread = client.agent<typeof weatherAgent>("weather").thread();
    const run = await thread.send('then 25 call forecast {"city":"Oslo"}');
    const steered = await thread.send('say {"city":"Oslo","celsius":5}', { delivery: "steer" });
    expect(steered.id).toBe(run.id);
    const parse = (value: unknown): number => Number((value as { n: unknown }).n);
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const own = await client
      .agent("weather")
      .thread()
      .send('say {"n":7}', {
        output: { name: "n", schema, parse },
      });
    expect(await own.output()).toBe(7);
    await run.cancel();
  });

  it("[P117] tool calls have the names and arguments that the agent's type says", async () => {
    const thread = client.agent<typeof weatherAgent>("weather").thread();
    const run = await thread.send('call forecast {"city":"Oslo"}');
    const calls: string[] = [];
    for await (const item of run.stream({ deltas: false })) {
      if (item.type !== "tool.started" || item.payload?.name !== "forecast") continue;
      calls.push(`${item.payload.args.city} ${item.payload.args.days}`);
    }
    expect(calls).toEqual(["Oslo 1"]);
  });

  it("decides what waits, once, and says who was first", async () => {
    const thread = client.agent("obeys").thread();
    const run = await thread.send('call refund {"order":7}');
    const result = await run.result({ onApproval: () => ({ decision: "approve" }) });
    expect(result).toMatchObject({ status: "completed", text: "got refunded 7" });
    const { items } = await thread.approvals();
    expect(items).toMatchObject([{ status: "decided", decision: "approved" }]);
    const late = thread.decide(items[0]!.approvalId, { decision: "deny" });
    await expect(late).rejects.toBeInstanceOf(HoldfastError);
    await expect(late).rejects.toMatchObject({
      code: "approval_already_decided",
      context: { decision: "approved" },
    });
  });

  it("[P111] the same key is the same run; interrupting ends one", async () => {
    const thread = client.agent("obeys").thread();
    const first = await thread.send("slow 200", { idempotencyKey: "once" });
    const again = await thread.send("slow 200", { idempotencyKey: "once" });
    expect(again.id).toBe(first.id);
    const next = await thread.send("say done", { delivery: "interrupt" });
    expect((await first.result()).status).toBe("cancelled");
    expect((await next.result()).text).toBe("done");
    const runs = await allOf(every((page) => thread.runs(page)));
    expect(runs.map(({ runId }) => runId)).toEqual([first.id, next.id]);
  });

  it("keeps files, and reads them as they were written", async () => {
    const { files } = await client.agent("obeys").createThread({ title: "files" });
    await files.write("a b/ä.txt", "grüß\n");
    await files.write("raw.bin", new Uint8Array([0, 255]));
    expect((await files.list()).map(({ path }) => path).toSorted()).toEqual([
      "a b/ä.txt",
      "raw.bin",
    ]);
    expect(await (await files.read("a b/ä.txt")).text()).toBe("grüß\n");
    expect([...(await (await files.read("raw.bin")).bytes())]).toEqual([0, 255]);
    await files.delete("raw.bin");
    await expect(files.read("raw.bin")).rejects.toMatchObject({ code: "not_found", status: 404 });
  });

  it("explains a run, lists agents and threads, and sums spend", async () => {
    const thread = client.agent("obeys").thread();
    const run = await thread.send("say hello");
    await run.result();
    expect((await run.explain()).steps).toHaveLength(1);
    expect((await client.agents()).map(({ name }) => name)).toContain("weather");
    expect((await client.threads()).items.map((item) => item.thread)).toContain(thread.id);
    expect((await client.me()).tenant).toBe("dev");
    expect((await client.spend({ groupBy: ["agent", "day"] })).next).toBeNull();
    expect((await thread.verify()).ok).toBe(true);
    expect((await client.inbox()).items).toEqual([]);
  });

  it("[P115] refusals have the server's codes", async () => {
    const nobody = new Holdfast({ url: server.url, key: "hf_wrong" });
    await expect(nobody.agents()).rejects.toMatchObject({ code: "unauthenticated", status: 401 });
    await expect(client.agent("nobody").thread().send("x")).rejects.toMatchObject({
      code: "agent_unknown",
    });
    const blank = client.agent("obeys").thread().send(" ");
    await expect(blank).rejects.toMatchObject({ code: "invalid_request", context: {} });
  });
});

function cutAfter({ body }: Response, bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.error(new TypeError("terminated"));
    },
  });
  return body!.pipeThrough(cut);
}
