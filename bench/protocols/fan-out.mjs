/**
 * One run of many events, alone and then with subscribers, one of which reads nothing until the run has ended: what they cost
 * the run, what memory they take, and whether the slow one gets everything from where it is.
 */
const AGENT = "bench";
const SAMPLE_MS = 100;
const round = (value, digits = 1) => Number(value.toFixed(digits));

async function send(server, thread, text) {
  const response = await fetch(`${server.url}/v1/agents/${AGENT}/threads/${thread}/messages`, {
    method: "POST",
    headers: server.headers,
    body: JSON.stringify({ text }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** By the run's own clock: from its message to its end. */
async function durationOf(server, path) {
  for (;;) {
    const run = await (await fetch(server.url + path, { headers: server.headers })).json();
    if (run.endedAt !== null && run.status !== "completed") throw new Error(JSON.stringify(run));
    if (run.endedAt !== null) return run.endedAt - run.createdAt;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function open(server, path, lastId) {
  const headers = { ...server.headers, accept: "text/event-stream" };
  if (lastId !== undefined) headers["last-event-id"] = lastId;
  return fetch(`${server.url}${path}`, { headers });
}

/** Ids of a stream, as the reader got them; stops after so many bytes, where that is asked for. */
async function idsOf(response, maxBytes = Infinity) {
  const decoder = new TextDecoder();
  const ids = [];
  let rest = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id] = /^id: (\S+)\nevent: event/m.exec(block) ?? [];
      if (id !== undefined) ids.push(Number(id.split(".")[0]));
    }
    if (bytes > maxBytes) break;
  }
  return ids;
}

async function count(response) {
  let bytes = 0;
  for await (const chunk of response.body) bytes += chunk.byteLength;
  return bytes;
}

export async function measureFanOut(server, { steps, subscribers }) {
  const alone = await send(server, "alone", `steps ${steps} alone`);
  const aloneMs = await durationOf(server, alone.run);
  const before = server.memory();
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, server.memory())), SAMPLE_MS);
  const watched = await send(server, "watched", `steps ${steps} watched`);
  const slow = await open(server, watched.stream);
  const readers = Array.from({ length: subscribers - 1 }, async () =>
    count(await open(server, watched.stream)),
  );
  const watchedMs = await durationOf(server, watched.run);
  const sizes = await Promise.all(readers);
  clearInterval(sampler);
  // It has read nothing so far: now some of it, then it leaves and goes on from the last id that it saw.
  const first = await idsOf(slow, 200_000);
  const rest = await idsOf(await open(server, watched.stream, `${first.at(-1)}.0.0`));
  const seqs = [...first, ...rest];
  const whole = seqs.every((seq, index) => seq === seqs[0] + index);
  return {
    events: seqs.length,
    subscribers,
    runAloneMs: aloneMs,
    runWatchedMs: watchedMs,
    runRatio: round(watchedMs / aloneMs, 2),
    memoryBeforeMiB: round(before),
    memoryPeakMiB: round(peak),
    mebibytesSent: round(sizes.reduce((sum, size) => sum + size, 0) / 1_048_576),
    slowReaderIsWhole: whole,
  };
}
