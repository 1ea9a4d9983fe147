/** Resources of an agent's MCP server: files and the transcript of a thread. Reads only, checked as every read is (Z4). */
import {
  ResourceTemplate,
  type McpServer,
  type ReadResourceResult,
  type Variables,
} from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import type { ResourceContent } from "#ports/content.ts";
import type { Failure, ThreadStub } from "#ports/thread-gateway.ts";
import { toProblem } from "#protocols/rest/errors.ts";
import { fromUtf8 } from "#shared/json.ts";
import { requireScopes } from "./access.ts";
import { stubOf, type McpCall } from "./call.ts";
import { toResourceBlock } from "./encode.ts";
import { toThreadId } from "./wire.ts";

/** One answer holds at most this much of a file; larger ones are read over REST. */
const MAX_FILE_BYTES = 1_048_576;
const PAGE = 200;

export function addResources(server: McpServer, call: McpCall): void {
  addExported(server, call);
  if (call.older !== null) acceptSubscriptions(server);
  server.registerResource(
    "transcript",
    new ResourceTemplate("holdfast://threads/{thread}/transcript", { list: undefined }),
    {
      description: "The newest messages of a thread, oldest first, as JSON.",
      mimeType: "application/json",
    },
    (uri, { thread }) => transcript(call, uri, String(thread)),
  );
  server.registerResource(
    "events",
    new ResourceTemplate("holdfast://threads/{thread}/events", { list: undefined }),
    { description: "The first events of a thread's log, as JSON.", mimeType: "application/json" },
    (uri, { thread }) => events(call, uri, String(thread)),
  );
  server.registerResource(
    "file",
    new ResourceTemplate("holdfast://threads/{thread}/files/{+path}", { list: undefined }),
    { description: "A file of a thread's workspace." },
    (uri, { thread, path }) => file(call, uri, { thread: String(thread), path: String(path) }),
  );
}

async function transcript(call: McpCall, uri: URL, thread: string): Promise<ReadResourceResult> {
  const page = await checkedStub(call, thread, "threads:read").messages(toCaller(call.principal), {
    after: 0,
    limit: PAGE,
  });
  if (!page.ok) throw refused(page.error);
  return json(uri, page.value);
}

async function events(call: McpCall, uri: URL, thread: string): Promise<ReadResourceResult> {
  const page = await checkedStub(call, thread, "threads:read").events(toCaller(call.principal), {
    after: 0,
    limit: PAGE,
  });
  if (!page.ok) throw refused(page.error);
  return json(uri, page.value);
}

async function file(
  call: McpCall,
  uri: URL,
  { thread, path }: { readonly thread: string; readonly path: string },
): Promise<ReadResourceResult> {
  const range = { offset: 0, limit: MAX_FILE_BYTES };
  const read = await checkedStub(call, thread, "files:read").readFile(
    toCaller(call.principal),
    path,
    range,
  );
  if (!read.ok) throw refused(read.error);
  const text = toText(read.value.content);
  if (text !== null) return { contents: [{ uri: uri.href, mimeType: "text/plain", text }] };
  const blob = btoa(Array.from(read.value.content, (byte) => String.fromCharCode(byte)).join(""));
  return { contents: [{ uri: uri.href, mimeType: "application/octet-stream", blob }] };
}

/** Null for bytes that are no text. */
function toText(content: Uint8Array): string | null {
  try {
    return fromUtf8(content);
  } catch {
    return null;
  }
}

function json(uri: URL, value: unknown): ReadResourceResult {
  return {
    contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(value) }],
  };
}

function checkedStub(
  call: McpCall,
  text: string,
  scope: "threads:read" | "files:read",
): ThreadStub {
  const allowed = requireScopes(call, [scope]);
  if (!allowed.ok) throw refused(allowed.error);
  const thread = toThreadId(text);
  if (thread === null) throw new Error("not_found: there is no such thread.");
  return stubOf(call, thread);
}

function refused(failure: Failure): Error {
  const { code, detail } = toProblem(failure, "");
  return new Error(`${code}: ${detail}`);
}

/** Of the agent's definition: the same for everybody who may talk to the agent. */
function addExported(server: McpServer, { exports }: McpCall): void {
  for (const { name, uri, description, mimeType, read } of exports.resources) {
    const config = { description, mimeType };
    if (uri.includes("{")) {
      const template = new ResourceTemplate(uri, { list: undefined });
      server.registerResource(name, template, config, async (at, variables) =>
        toRead(await read(at.href, toTexts(variables))),
      );
    } else
      server.registerResource(name, uri, config, async (at) => toRead(await read(at.href, {})));
  }
}

function toRead(content: ResourceContent): ReadResourceResult {
  const { resource } = toResourceBlock(content);
  return { contents: [resource] };
}

function toTexts(variables: Variables): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, String(value)]),
  );
}

/**
 * Accepted, because older clients take a refusal for a defect; nothing is told, because a session of theirs is nothing that is
 * kept (P105). Whoever wants to see a run as it goes asks for progress.
 */
function acceptSubscriptions({ server }: McpServer): void {
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
}
