/** E10: large files through the public API. Pipes, devices and links do not exist here; see docs/test-matrix.md. */
import { afterEach, beforeAll, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { read } from "#tools/read.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ask, say } from "../support/scripted-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

/** What one upload may have: the workspace's 32 MiB less what surrounds it on its way. */
const LIMIT = 32 * 1024 * 1024 - 65_536;
const FAR = 30_000_000;

let api: Api;
beforeAll(async () => {
  api = await Api.service("large");
});
afterEach(() => lab.models.clear());

function start(name: string, model: StrictModel): ThreadClient {
  const route = `test/${name}`;
  deploy(
    defineAgent({ name, description: name, instructions: "Read.", model: route, tools: [read] }),
  );
  lab.models.set(route, model);
  return new ThreadClient(api, name, "t1");
}

/** Every line says where it stands. */
function bigText(): Uint8Array {
  const content = new Uint8Array(LIMIT).fill(46);
  const encoder = new TextEncoder();
  for (let at = 0; at + 16 < LIMIT; at += 100) content.set(encoder.encode(`\n@${at};`), at);
  return content;
}

const put = (thread: ThreadClient, path: string, body: BodyInit): Promise<Response> =>
  api.fetch("PUT", `${thread.path}/files/${path}`, { body });

it("E10 [P8] a file at the limit is uploaded, read in ranges at once, and downloaded by slices", async () => {
  const content = bigText();
  const calls = [
    ask(["read", { path: "big.txt", offset: FAR, limit: 1_000 }]),
    ask(["read", { path: "big.txt" }]),
    say("read"),
  ];
  const model = new StrictModel(calls);
  const thread = start("e10", model);
  expect((await put(thread, "big.txt", content)).status).toBe(200);
  const epochs = new Set<number>();

  const began = Date.now();
  const range = await api.fetch("GET", `${thread.path}/files/big.txt`, {
    headers: { range: `bytes=${FAR}-${FAR + 999}` },
  });
  expect([range.status, range.headers.get("content-range")]).toEqual([
    206,
    `bytes ${FAR}-${FAR + 999}/${LIMIT}`,
  ]);
  expect(new Uint8Array(await range.arrayBuffer())).toEqual(content.slice(FAR, FAR + 1_000));
  expect(Date.now() - began).toBeLessThan(2_000);

  expect(await thread.ask("read it")).toMatchObject({ finish: "stop" });
  const [part] = lastResults(model.requests[1]);
  const read1 = JSON.parse(part?.output ?? "") as Record<string, unknown>;
  expect(read1).toMatchObject({ bytes: LIMIT, offset: FAR, truncated: true });
  expect(read1["text"]).toBe(new TextDecoder().decode(content.slice(FAR, FAR + 1_000)));
  const [whole] = lastResults(model.requests[2]);
  const read2 = JSON.parse(whole?.output ?? "") as Record<string, unknown>;
  expect(read2).toMatchObject({ bytes: LIMIT, offset: 0, truncated: true, nextOffset: 8_192 });
  expect(whole?.output.length).toBeLessThan(10_000);

  const download = await api.fetch("GET", `${thread.path}/files/big.txt`);
  let slices = 0;
  let largest = 0;
  const body = new Uint8Array(LIMIT);
  let at = 0;
  for await (const slice of download.body as ReadableStream<Uint8Array>) {
    body.set(slice, at);
    at += slice.byteLength;
    slices += 1;
    largest = Math.max(largest, slice.byteLength);
  }
  expect(at).toBe(LIMIT);
  expect(new NodeHasher().sha256(body)).toBe(new NodeHasher().sha256(content));
  expect(slices).toBeGreaterThan(7);
  expect(largest).toBeLessThanOrEqual(4 * 1024 * 1024);
  // One process served all of it: a reset would have begun another epoch.
  for (const { header } of await thread.events()) epochs.add(header.epoch);
  expect(epochs.size).toBe(1);
  expect(model.rejections).toEqual([]);
});

it("E10 [T8] a file over the limit is refused while it arrives, as file_too_large, and the thread goes on", async () => {
  const thread = start("e10-over", new StrictModel([say("here")]));
  await thread.writeFile("small.txt", "small");
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      controller.enqueue(new Uint8Array(1024 * 1024));
      if (sent > 200) controller.close();
    },
  });
  const refused = await put(thread, "huge.bin", endless);
  expect(refused.status).toBe(413);
  expect(await refused.json()).toMatchObject({ code: "file_too_large" });
  expect(sent).toBeLessThan(40);
  expect(await thread.file("huge.bin")).toBeNull();
  expect(await thread.text("small.txt")).toBe("small");
  expect(await thread.ask("still there?")).toMatchObject({ finish: "stop", text: "here" });
  const epochs = new Set((await thread.events()).map(({ header }) => header.epoch));
  expect(epochs.size).toBe(1);
});
