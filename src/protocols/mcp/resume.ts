/** A call's stream goes on where its client lost it (P106): from the log, on any isolate, until the call's result. */
import { toCaller } from "#auth/principal.ts";
import type { ExportedTool } from "#ports/agent-exports.ts";
import type { MessageView, Page, Reply } from "#ports/thread-gateway.ts";
import { requireScopes } from "./access.ts";
import { stubOf, type McpCall } from "./call.ts";
import { toRunOutput, toRunResult } from "./encode.ts";
import { toError } from "./errors.ts";
import { follow, toNotifications } from "./follow.ts";
import { renderTool } from "./render.ts";
import { stand, type Started } from "./standing.ts";
import { parseEventId, toEventId, type ResumePoint } from "./stream-position.ts";

const NOTHING = { code: -32_001, message: "There is no such stream." };
const PAGE = 200;

export async function resumeStream(call: McpCall, request: Request): Promise<Response> {
  const id = request.headers.get("last-event-id");
  if (id === null)
    return toError(405, { code: -32_000, message: "Method not allowed." }, { allow: "POST" });
  const point = parseEventId(id);
  const started = point === null ? null : await findRun(call, point);
  if (point === null || started === null) return toError(404, NOTHING);
  return new Response(toStream(call, point, started), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** The run that the call's message began. */
async function findRun(call: McpCall, point: ResumePoint): Promise<Started | null> {
  if (!requireScopes(call, ["threads:read"]).ok) return null;
  const stub = stubOf(call, point.thread);
  for (let after: number | null = 0; after !== null;) {
    const page: Reply<Page<MessageView>> = await stub.messages(toCaller(call.principal), {
      after,
      limit: PAGE,
    });
    if (!page.ok) return null;
    const sent = page.value.items.find(({ messageId }) => messageId === point.message);
    if (sent !== undefined && sent.runId !== null)
      return { thread: point.thread, run: sent.runId, seq: Math.max(point.seq, sent.seq - 1) };
    after = page.value.next;
  }
  return null;
}

/** A tool that this build exports no more has a result all the same. */
function toExported({ exports }: McpCall, tool: string): Pick<ExportedTool, "outputSchema"> {
  return exports.tools.find(({ name }) => name === tool) ?? { outputSchema: null };
}

function toStream(call: McpCall, point: ResumePoint, started: Started): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = new AbortController();
  return new ReadableStream({
    async start(controller) {
      const { older } = call;
      if (older === null) return controller.close();
      Object.assign(older.position, { ...point });
      const send = (message: object): void => {
        const id = toEventId(older.position, point.requestId) ?? "";
        controller.enqueue(
          encoder.encode(`event: message\nid: ${id}\ndata: ${JSON.stringify(message)}\n\n`),
        );
      };
      const ask = async (request: object): Promise<void> => send({ jsonrpc: "2.0", ...request });
      const own = { ...call, older: { ...older, ask } };
      const end = await follow(own, started, {
        signal: left.signal,
        tell: async (item) => {
          for (const notification of toNotifications(item, point.progressToken ?? undefined))
            send({ jsonrpc: "2.0", ...notification });
        },
      });
      const standing = await stand(own, started);
      if (end.ok && standing.ok && end.value.type !== "broken") {
        const { thread, view, open } = standing.value;
        const result =
          point.tool === null
            ? toRunResult(toRunOutput(thread, view, open))
            : await renderTool(own, toExported(call, point.tool), standing.value);
        send({ jsonrpc: "2.0", id: point.requestId, result });
      }
      controller.close();
    },
    cancel: () => left.abort(),
  });
}
