/**
 * Runs `embedded/scripted` the way the runner does, over files in memory: each call is executed and its result is put
 * back into the prompt. Generated code runs under the sandbox's own prelude in a fresh context.
 */
import { readFileSync } from "node:fs";
import vm from "node:vm";
import type { ModelPart, ModelRequest, PromptMessage, PromptTool } from "#ports/model.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { PRELUDE_SOURCE } from "#sandbox/prelude.ts";
import { ScriptedModel } from "#adapters/model/embedded/scripted-model.ts";

export interface Session {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: JsonObject }[];
  /** Value of the last run_code call. */
  readonly value: Json;
  readonly messages: readonly PromptMessage[];
}
type Files = Map<string, string>;

const TOOL_NAMES = ["ls", "read", "find", "grep", "write", "run_code", "update_plan"];
export const ALL_TOOLS: readonly PromptTool[] = TOOL_NAMES.map((name) => ({
  name,
  description: name,
  inputSchema: { type: "object" },
}));

export function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/csv/${name}`, import.meta.url).pathname, "utf8");
}

export function filesOf(...names: readonly string[]): Files {
  return new Map(names.map((name) => [name, fixture(name)]));
}

export async function ask(
  question: string,
  files: Files,
  before: readonly PromptMessage[] = [],
): Promise<Session> {
  const messages: PromptMessage[] = [
    ...before,
    { role: "user", content: [{ type: "text", text: question }] },
  ];
  const calls: { name: string; args: JsonObject }[] = [];
  let value: Json = null;
  for (let step = 0; step < 20; step++) {
    const parts = await collect(new ScriptedModel(), toRequest(messages));
    const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    const call = parts.find((part) => part.type === "call");
    if (call === undefined)
      return {
        text,
        calls,
        value,
        messages: [...messages, { role: "assistant", content: [{ type: "text", text }] }],
      };
    const args = JSON.parse(call.argsText) as JsonObject;
    const callId = `call_${messages.length}`;
    calls.push({ name: call.name, args });
    const result = execute(call.name, args, files);
    if (call.name === "run_code" && !result.isError)
      value = (JSON.parse(result.output) as { value: Json }).value;
    messages.push({
      role: "assistant",
      content: [{ type: "call", callId, name: call.name, args }],
    });
    messages.push({
      role: "tool",
      content: [{ type: "result", callId, name: call.name, ...result }],
    });
  }
  throw new Error("the scripted model did not come to an end");
}

export function toRequest(
  messages: readonly PromptMessage[],
  change: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    instructions: "Answer.",
    messages,
    tools: ALL_TOOLS,
    settings: { maxOutputTokens: 1000, temperature: null },
    output: null,
    ...change,
  };
}

export async function collect(model: ScriptedModel, request: ModelRequest): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, {
    signal: new AbortController().signal,
    idempotencyKey: "key",
  }))
    parts.push(part);
  return parts;
}

function execute(
  name: string,
  args: JsonObject,
  files: Files,
): { output: string; isError: boolean } {
  if (name === "find") {
    const found = [...files].map(([path, text]) => ({ path, bytes: text.length }));
    return {
      output: JSON.stringify({ files: found, total: found.length, truncated: false }),
      isError: false,
    };
  }
  if (name === "grep") {
    const lines = (files.get(String(args["glob"])) ?? "")
      .split(/\r?\n/)
      .map((text, index) => ({ line: index + 1, text }));
    const matches = lines.filter(({ text }) =>
      text.toLowerCase().includes(String(args["text"]).toLowerCase()),
    );
    return {
      output: JSON.stringify({ matches, total: matches.length, truncated: false }),
      isError: false,
    };
  }
  if (name === "write") {
    files.set(String(args["path"]), String(args["content"]));
    return { output: "written", isError: false };
  }
  if (name !== "run_code") return { output: `no tool ${name} here`, isError: true };
  try {
    return { output: runCode(String(args["code"]), files), isError: false };
  } catch (error) {
    return { output: `exec_error: ${String(error)}`, isError: true };
  }
}

function runCode(code: string, files: Files): string {
  const context = vm.createContext({});
  const printed: string[] = [];
  const encode = vm.runInContext(
    `(${PRELUDE_SOURCE})`,
    context,
  )({
    readText: (path: string) => {
      const text = files.get(path);
      if (text === undefined) throw new Error(`no such file: ${path}`);
      return text;
    },
    readBytes: (path: string) => new TextEncoder().encode(files.get(path)),
    write: (path: string, text: string) => void files.set(path, text),
    remove: (path: string) => files.delete(path),
    list: () => [...files.keys()],
    print: (text: string) => void printed.push(text),
  });
  const value = vm.runInContext(`(() => {"use strict";\n${code}\n})()`, context, { timeout: 2000 });
  return JSON.stringify({ value: JSON.parse(encode(value)), stdout: printed.join("") });
}
