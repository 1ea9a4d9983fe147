import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { FetchWebhookSender } from "#adapters/webhook-sender/fetch-webhook-sender.ts";
import { isDelivered, MAX_POST_BYTES } from "#ports/webhook-sender.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A receiver on this machine, and what reached it. */
async function listen(answer: RequestListener) {
  const seen: { method: string; path: string; headers: object; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      seen.push({ method, path, headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Listening on a port of an interface, it has an address of this form.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen };
}

const clock = { now: () => Date.UTC(2026, 0, 1) };
const sender = (refuse: (url: string) => string | null = () => null, timeoutMs = 5_000) =>
  new FetchWebhookSender({ refuse, clock, timeoutMs });
const post = (url: string) => ({
  url,
  headers: { "content-type": "application/json", "webhook-id": "msg_1" },
  body: '{"type":"run.completed"}',
});

it("[P136] one POST arrives as it is; any 2xx is taken, and what the other side says is dropped", async () => {
  const { url, seen } = await listen((_request, response) =>
    response.writeHead(202).end("x".repeat(1_000_000)),
  );
  const outcome = await sender().post(post(`${url}/in?a=1`));
  expect(outcome).toEqual({ type: "answered", status: 202, retryAfterMs: null });
  expect(isDelivered(outcome)).toBe(true);
  expect(seen).toEqual([
    {
      method: "POST",
      path: "/in?a=1",
      headers: expect.objectContaining({ "webhook-id": "msg_1" }),
      body: '{"type":"run.completed"}',
    },
  ]);
});

it("[P136] a redirect is not followed, and is not delivered", async () => {
  const inside = await listen((_request, response) => response.end());
  const { url } = await listen((_request, response) =>
    response.writeHead(307, { location: inside.url }).end(),
  );
  const outcome = await sender().post(post(url));
  expect(outcome).toMatchObject({ type: "answered", status: 307 });
  expect(isDelivered(outcome)).toBe(false);
  expect(inside.seen).toEqual([]);
});

it("[P136] an address that is refused is not asked", async () => {
  const { url, seen } = await listen((_request, response) => response.end());
  const outcome = await sender(() => "is inside").post(post(url));
  expect(outcome).toEqual({ type: "failed", reason: "address_refused", message: "is inside" });
  expect(seen).toEqual([]);
});

it("[P136] silence ends at the deadline, a closed port at once; neither says what is behind the address", async () => {
  const { url, seen } = await listen(() => undefined);
  expect(await sender(undefined, 200).post(post(url))).toMatchObject({ reason: "timeout" });
  expect(seen).toHaveLength(1);
  const [server] = servers.splice(0);
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
  const outcome = await sender().post(post(url));
  expect(outcome).toMatchObject({ reason: "unreachable" });
  expect(JSON.stringify(outcome)).not.toContain("127.0.0.1");
});

it.each([
  ["120", 120_000],
  ["Thu, 01 Jan 2026 00:02:00 GMT", 120_000],
  ["Wed, 31 Dec 2025 00:00:00 GMT", null],
  ["999999999", 86_400_000],
  ["soon", null],
])("[P136] retry-after %s is understood", async (text, retryAfterMs) => {
  const { url } = await listen((_request, response) =>
    response.writeHead(503, { "retry-after": text }).end(),
  );
  expect(await sender().post(post(url))).toEqual({ type: "answered", status: 503, retryAfterMs });
});

it("[P136] a body above the limit is a fault of the caller", async () => {
  const large = { ...post("http://127.0.0.1:9"), body: "x".repeat(MAX_POST_BYTES + 1) };
  await expect(sender().post(large)).rejects.toMatchObject({ code: "body_too_large" });
});
