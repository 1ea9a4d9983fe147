/** The terminal client as a black box, against a server that speaks the API by hand and goes away when told to. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const CHAT = resolve(import.meta.dirname, "../../../scripts/chat.mjs");
const RUN = { status: "completed", finish: "stop", steps: 2, tokens: 40, costMicros: 1500 };

type Frame = readonly [id: string, event: string, data: unknown];
const event = (seq: number, type: string, payload: unknown): Frame => [
  `${seq}.0.0`,
  "event",
  { header: { seq, type, run: "run-1" }, payload, hash: "0" },
];
const answer = (seq: number, text: string): Frame =>
  event(seq, "model.answered", { parts: [{ type: "text", text }] });

let folder: string;
let requests: { method: string; url: string; lastId: string | undefined; body: string }[];
/** One script of frames for each connection of the stream, in order. */
let connections: (readonly Frame[])[];
let runView: object;
let server: ReturnType<typeof createServer>;

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const { method = "", url = "" } = request;
  const lastId = request.headers["last-event-id"];
  requests.push({ method, url, body, lastId: typeof lastId === "string" ? lastId : undefined });
  const json = (value: object, status = 200): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (url.includes("/events")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [id, name, data] of connections.shift() ?? []) {
      response.write(`id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    }
    response.end();
  } else if (/\/(messages|regenerate)$/.test(url)) {
    const stream = "/v1/agents/analyst/threads/t/events?run=run-1";
    json({ seq: 2, runId: "run-1", messageId: "m-1", stream }, 202);
  } else if (url.endsWith("/runs/run-1")) json({ runId: "run-1", recoveryMicros: 0, ...runView });
  else if (method === "GET") json({ code: "not_found", detail: "no such thread" }, 404);
  else json({}, 201);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-chat-"));
  requests = [];
  connections = [];
  runView = RUN;
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await new Promise((done) => server.close(done));
});

function chat(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return converse([], ...args);
}

/** With lines, as typed at the prompt and then left. */
function converse(
  lines: readonly string[],
  ...args: readonly string[]
): Promise<{ code: number | null; output: string }> {
  const { port } = server.address() as AddressInfo;
  const where = ["--url", `http://127.0.0.1:${port}`, "--key", "hf_test"];
  const child = spawn(process.execPath, [CHAT, ...where, ...args], {
    env: { ...process.env, INIT_CWD: folder },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  let output = "";
  child.stdout.on("data", (text) => (output += String(text)));
  child.stderr.on("data", (text) => (output += String(text)));
  return new Promise((settle) => child.once("close", (code) => settle({ code, output })));
}

describe("npm run chat", () => {
  it("says to the agent what is no command of its own, inherited names of objects included", async () => {
    connections = [[], []];
    await converse(["/tool ls {}", "/constructor", "/help", "/quit"], "--thread", "t");
    const said = requests.filter(({ url }) => url.endsWith("/messages"));
    expect(said.map(({ body }) => JSON.parse(body).text)).toEqual(["/tool ls {}", "/constructor"]);
  });

  it("names agent and state where they are needed to go on", async () => {
    connections = [[]];
    const { output } = await chat("--agent", "analyst", "--state", "elsewhere", "hello");
    expect(output).toMatch(/go on: npm run chat -- --thread chat-\w+ --state elsewhere --url http/);
  });

  it("uploads, streams the answer once, shows tool calls and cost, and ends with 0", async () => {
    writeFileSync(join(folder, "data.csv"), "a,b\n1,2\n");
    connections = [
      [
        event(3, "tool.started", { name: "run_code", args: { code: "return 1;" } }),
        event(4, "tool.finished", { result: { status: "ok", code: null, output: "1 row" } }),
        ["5.0.4", "delta", { text: "One " }],
        ["5.0.8", "delta", { text: "row." }],
        answer(6, "One row."),
        event(7, "run.completed", { finish: "stop" }),
      ],
    ];
    const { code, output } = await chat("--file", "data.csv", "How many rows?");
    expect(output).toContain("> run_code");
    expect(output).toContain("code: return 1;");
    expect(output).toContain("1 row");
    expect(output.split("One row.")).toHaveLength(2);
    expect(output).toContain("cost $0.0015");
    expect(code).toBe(0);
    const put = requests.find(({ method }) => method === "PUT");
    expect(put).toMatchObject({
      url: expect.stringMatching(/\/files\/data\.csv$/),
      body: "a,b\n1,2\n",
    });
  });

  it("goes on after the last position when the stream breaks, and discards cut-off text", async () => {
    connections = [
      [["5.0.3", "delta", { text: "Hal" }]],
      [
        ["5.1.0", "discard", { attempt: 1 }],
        ["5.1.9", "delta", { text: "Half done" }],
        answer(6, "Half done."),
        event(7, "run.completed", { finish: "stop" }),
      ],
    ];
    const { code, output } = await chat("go");
    const opened = requests.filter(({ url }) => url.includes("/events"));
    expect(opened.map(({ lastId }) => lastId)).toEqual(["2", "5.0.3"]);
    expect(output).toContain("discarded");
    expect(output).toMatch(/\nHalf done\.\n/);
    expect(code).toBe(0);
  });

  it("sends with the delivery that it is told", async () => {
    connections = [[event(3, "run.completed", { finish: "stop" })]];
    await chat("--delivery", "interrupt", "stop that");
    const sent = requests.find(({ url }) => url.endsWith("/messages"));
    expect(JSON.parse(sent?.body ?? "")).toMatchObject({
      text: "stop that",
      delivery: "interrupt",
    });
  });

  it("asks for another answer to the last question, and clears, from the prompt", async () => {
    connections = [
      [answer(3, "First."), event(4, "run.completed", { finish: "stop" })],
      [answer(6, "Second."), event(7, "run.completed", { finish: "stop" })],
    ];
    const { output } = await converse(["/again", "ask", "/again", "/clear", "/again", "/quit"]);
    expect(output.match(/nothing was asked yet/g)).toHaveLength(2);
    expect(output).toContain("First.");
    expect(output).toContain("Second.");
    const posts = requests.flatMap(({ method, url }) =>
      method === "POST" ? [url.replace(/.*\/threads(\/chat-[^/]*)?/, "")] : [],
    );
    expect(posts).toEqual(["", "/messages", "/messages/m-1/regenerate", "/clear"]);
  });

  it("ends with a non-zero code and the reason when the run failed", async () => {
    runView = { ...RUN, status: "failed", finish: null };
    connections = [[event(3, "run.failed", { reason: "cost_cap", message: "over $0.10" })]];
    const { code, output } = await chat("go");
    expect(output).toContain("cost_cap");
    expect(code).toBe(1);
  });

  it("shows control characters of a tool as harmless marks, and no colours without a terminal", async () => {
    connections = [
      [
        event(3, "tool.finished", { result: { status: "ok", output: "\u001B[2Jgone" } }),
        event(4, "run.completed", { finish: "stop" }),
      ],
    ];
    const { output } = await chat("go");
    expect(output).not.toContain("\u001B");
    expect(output).toContain("gone");
  });

  it("says what is wrong with an option and how to use it", async () => {
    const { code, output } = await chat("--nonsense");
    expect(code).toBe(2);
    expect(output).toContain("Usage:");
  });
});
