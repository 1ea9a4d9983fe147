/** How a run answers the call of an exported tool: what its last calls gave, or why there is nothing (P101). */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import type { ExportedTool } from "#ports/agent-exports.ts";
import type { ContentPart } from "#ports/content.ts";
import type { EventView, RunView } from "#ports/thread-gateway.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { stubOf, type McpCall } from "./call.ts";
import { toBlock, toRunOutput, toRunResult } from "./encode.ts";
import type { Standing } from "./standing.ts";

export async function renderTool(
  call: McpCall,
  { outputSchema }: Pick<ExportedTool, "outputSchema">,
  { thread, run, view, open }: Standing,
): Promise<CallToolResult> {
  if (view.status !== "completed") {
    const { content } = toRunResult(toRunOutput(thread, view, open));
    return { isError: true, content };
  }
  const results = await lastResults(call, thread, { run, view });
  const parts = results.flatMap(({ parts: given, output }) => given ?? [text(output)]);
  // The plan's own words go before what its calls gave.
  const own = view.text === results.map(({ output }) => output).join("\n") ? null : view.text;
  const content = own === null && parts.length > 0 ? parts : [text(own ?? "")];
  const isError = own === null && results.some(({ status }) => status !== "ok");
  if (isError) return { isError: true, content: content.map(toBlock) };
  const structured = outputSchema === null ? null : parseObject(view.text);
  return {
    content: content.map(toBlock),
    ...(structured === null ? {} : { structuredContent: structured }),
  };
}

type Result = ThreadEvents["tool.finished"]["result"];

/** Of the last step that called tools. */
async function lastResults(
  call: McpCall,
  thread: string,
  { run, view }: { readonly run: string; readonly view: RunView },
): Promise<readonly Result[]> {
  const stub = stubOf(call, thread);
  const found: EventView[] = [];
  for (let after = view.startSeq - 1; ;) {
    const page = await stub.events(toCaller(call.principal), { after, limit: 200 });
    if (!page.ok) return [];
    found.push(...page.value.items.filter((event) => isResult(event, run)));
    if (page.value.next === null || page.value.next > (view.endSeq ?? 0)) break;
    after = page.value.next;
  }
  const last = found.at(-1)?.header.step;
  return found.filter(({ header }) => header.step === last).map(toResult);
}

function isResult({ header: { type, run } }: EventView, of: string): boolean {
  return run === of && (type === "tool.finished" || type === "tool.refused");
}

function toResult({ header, payload }: EventView): Result {
  const none = { status: "error", code: "not_found", bytes: 0, handle: null } as const;
  if (payload === null) return { ...none, output: "The result was erased." };
  if (header.type === "tool.finished")
    // The catalogue names the shape.
    return (payload as unknown as ThreadEvents["tool.finished"]).result;
  const { refusal } = payload as unknown as ThreadEvents["tool.refused"];
  return { ...none, code: refusal.code, output: refusal.message };
}

function text(value: string): ContentPart {
  return { type: "text", text: value };
}

function parseObject(value: string | null): JsonObject | null {
  try {
    const parsed = JSON.parse(value ?? "") as Json;
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
