/**
 * Files of a thread's workspace, as raw bytes (P8).
 *
 * What an agent or user wrote is never run by a browser on this origin: `nosniff` always, and everything but plain
 * known types is a download in a sandboxed context.
 */
import { findAgent } from "#auth/known-agents.ts";
import type { RestContext, RestDeps } from "./context.ts";
import type { RouteCall, Router } from "./route.ts";
import type { FileStat } from "#ports/workspace.ts";
import type { Caller, ThreadStub } from "#ports/thread-gateway.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import { toCaller } from "#auth/principal.ts";
import { AppError } from "#shared/errors.ts";
import type { BodyLimit } from "./body.ts";
import { readBytes } from "./body.ts";
import { answer, refuse } from "./context.ts";
import { parseRange } from "./decode.ts";
import { failure } from "./errors.ts";
import { fileHeaders } from "./file-headers.ts";
import { binary, json } from "./responses.ts";
import { addRoute } from "./route.ts";
import {
  FileListDoc,
  FileParams,
  FileWrittenDoc,
  FilesQuery,
  NoQuery,
  ReceiptDoc,
  ThreadParams,
} from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}/files";
/** An RPC message holds 32 MiB in all; what surrounds the content is far below 64 KiB. */
const FILE_LIMIT: BodyLimit = { maxBytes: 32 * 1024 * 1024 - 65_536, code: "file_too_large" };
/** How much of a file is held in memory while it is sent. */
const SLICE_BYTES = 4 * 1024 * 1024;

type FileCall = RouteCall<ThreadPlace & { readonly path: string }, unknown, unknown>;
const file = { path: `${BASE}/{path}`, tag: "files", params: FileParams, query: NoQuery } as const;

export function addFileRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: BASE,
    id: "listFiles",
    tag: "files",
    summary: "List the files of a thread",
    scope: "files:read",
    params: ThreadParams,
    query: FilesQuery,
    responses: json(200, FileListDoc),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      const files = await deps.threads.stub(caller, params).files(caller, query.prefix);
      return answer(c, files, (items) => ({ items }));
    },
  });
  addRoute(router, {
    ...file,
    method: "get",
    id: "readFile",
    summary: "Read a file, or a range of it",
    scope: "files:read",
    responses: binary(
      "application/octet-stream",
      "The content, with a media type by its extension.",
    ),
    handle: (call) => readFile(deps, call),
  });
  addRoute(router, {
    ...file,
    method: "put",
    id: "writeFile",
    summary: "Write a file; creates the thread when there is none",
    scope: "files:write",
    rawBody: "application/octet-stream",
    idempotent: true,
    responses: json(200, FileWrittenDoc),
    handle: (call) => writeFile(deps, call),
  });
  addRoute(router, {
    ...file,
    method: "delete",
    id: "deleteFile",
    summary: "Delete a file",
    scope: "files:write",
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.deleteFile(caller, params.path), (receipt) => receipt);
    },
  });
}

async function writeFile(
  deps: RestDeps,
  { c, principal, params, idempotencyKey }: FileCall,
): Promise<Response> {
  if ((await findAgent(deps, { ...principal, agent: params.agent })) === null)
    return refuse(c, failure("agent_unknown"));
  const content = await readBytes(c.req.raw, FILE_LIMIT);
  if (!content.ok) return refuse(c, content.error);
  const upload = { path: params.path, content: content.value, idempotencyKey };
  const written = await deps.threads.writeFile(toCaller(principal), params, upload);
  if (!written.ok) return refuse(c, written.error);
  const { receipt, stat } = written.value;
  return Response.json({ receipt, file: stat }, { headers: { etag: `"${stat.digest}"` } });
}

async function readFile(deps: RestDeps, { c, principal, params }: FileCall): Promise<Response> {
  const caller = toCaller(principal);
  const source = { stub: deps.threads.stub(caller, params), caller, path: params.path };
  const wantsBody = c.req.method !== "HEAD" && c.req.header("range") === undefined;
  const first = await readSlice(source, 0, wantsBody ? SLICE_BYTES : 0);
  if (!first.ok) return refuse(c, first.error);
  const { stat, content } = first.value;
  const headers = fileHeaders(stat);
  if (matches(c.req.header("if-none-match"), stat))
    return new Response(null, { status: 304, headers });
  if (c.req.method === "HEAD") {
    return new Response(null, { headers: { ...headers, "content-length": String(stat.bytes) } });
  }
  return rangeOrWhole({ c, source, stat, content: wantsBody ? content : null, headers });
}

function rangeOrWhole(file: {
  readonly c: RestContext;
  readonly source: FileSource;
  readonly stat: FileStat;
  /** The first slice, where it has been read. */
  readonly content: Uint8Array | null;
  readonly headers: { readonly [name: string]: string };
}): Response {
  const { c, source, stat, content, headers } = file;
  const ifRange = c.req.header("if-range");
  const unchanged = ifRange === undefined || ifRange === `"${stat.digest}"`;
  const range = unchanged ? parseRange(c.req.header("range"), stat.bytes) : null;
  if (range === "unsatisfiable") {
    return refuse(
      c,
      failure("invalid_request", "The range lies outside the file.", { bytes: stat.bytes }),
      {
        status: 416,
        headers: { "content-range": `bytes */${stat.bytes}` },
      },
    );
  }
  if (range === null) {
    if (content !== null && content.byteLength === stat.bytes)
      return new Response(content, { headers });
    const all = { start: 0, end: stat.bytes - 1 };
    return new Response(sliceStream(source, stat, { ...all, first: content }), { headers });
  }
  const contentRange = `bytes ${range.start}-${range.end}/${stat.bytes}`;
  return new Response(sliceStream(source, stat, { ...range, first: null }), {
    status: 206,
    headers: { ...headers, "content-range": contentRange },
  });
}

interface FileSource {
  readonly stub: ThreadStub;
  readonly caller: Caller;
  readonly path: string;
}

function readSlice({ stub, caller, path }: FileSource, offset: number, limit: number) {
  return stub.readFile(caller, path, { offset, limit });
}

/** Slice by slice as the client takes them. A file that changes meanwhile breaks the transfer off: never a mixture. */
function sliceStream(
  source: FileSource,
  stat: FileStat,
  part: { readonly start: number; readonly end: number; readonly first: Uint8Array | null },
): ReadableStream<Uint8Array> {
  let offset = part.start;
  let ready = part.first;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (offset > part.end) return controller.close();
      const slice = ready ?? (await nextSlice(Math.min(SLICE_BYTES, part.end - offset + 1)));
      ready = null;
      offset += slice.byteLength;
      controller.enqueue(slice);
    },
  });

  async function nextSlice(length: number): Promise<Uint8Array> {
    const reply = await readSlice(source, offset, length);
    if (!reply.ok) throw new AppError(reply.error.code, "The file could not be read to its end.");
    const { stat: now, content } = reply.value;
    if (now.digest !== stat.digest || content.byteLength !== length) {
      throw new AppError("conflict", "The file changed while it was read.");
    }
    return content;
  }
}

function matches(ifNoneMatch: string | undefined, stat: FileStat): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === "*" || tag === `"${stat.digest}"`);
}
