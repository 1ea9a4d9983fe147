/** A thread that waits for a person, opened again from a terminal: against a server that speaks the API by hand. */
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../../scripts/chat/connect.mjs";
import { Approvals } from "../../../scripts/chat/approvals.mjs";
import { Session } from "../../../scripts/chat/session.mjs";

const CHAT = resolve(import.meta.dirname, "../../../scripts/chat.mjs");
const WAITING = {
  approvalId: "evt_2",
  runId: "run_1",
  seq: 7,
  kind: "tool",
  tool: "wire",
  args: { amount: 2 },
  question: null,
  answerSchema: null,
};
const event = (seq: number, type: string, payload: object, over: object = {}) => ({
  seq,
  name: "event",
  data: { header: { seq, type, run: "run_1", id: `evt_${seq}`, ...over }, payload, hash: "0" },
});
const asked = (seq: number, id: string, amount: number) =>
  event(seq, "approval.requested", { kind: "tool", tool: "wire", args: { amount } }, { id });

let open: readonly object[];
let frames: readonly {
  readonly seq: number;
  readonly name: string;
  readonly data: object;
}[];
let requests: {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly lastId: string | string[] | undefined;
}[];
let server: ReturnType<typeof createServer>;
let url: string;
/** Called for each decision, before it is answered. */
let decided: () => void;

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const { method = "", url: path = "" } = request;
  requests.push({ method, url: path, body, lastId: request.headers["last-event-id"] });
  const json = (value: object, status = 200): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (path.includes("/approvals?")) return json({ items: open, next: null });
  if (path.endsWith("/decision")) {
    decided();
    return json({});
  }
  if (path.endsWith("/messages")) {
    const stream = "/v1/agents/clerk/threads/t/events?run=run_1";
    return json({ seq: 9, runId: "run_1", messageId: "m_1", stream }, 202);
  }
  if (!path.includes("/events?")) return json({ runId: "run_1", status: "completed", steps: 2 });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const write = (all: typeof frames): void => {
    for (const { seq, name, data } of all)
      response.write(`id: ${seq}.0.0\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  write(frames);
  if (frames.some(({ data }) => JSON.stringify(data).includes("run.completed"))) response.end();
  decided = () => {
    write([
      event(10, "approval.decided", { decision: "approved" }, { cause: "evt_2" }),
      event(11, "run.completed", { finish: "stop" }),
    ]);
    response.end();
  };
}

beforeEach(async () => {
  requests = [];
  open = [WAITING];
  frames = [];
  decided = () => undefined;
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** As at a terminal whose user says yes to everything; what was asked and said is kept. */
function terminal() {
  const said: string[] = [];
  let asking = 0;
  const renderer = {
    note: (text: string) => said.push(text),
    problem: (text: string) => said.push(text),
    item: ({
      type,
      header,
    }: {
      readonly type: string;
      readonly header?: { readonly id: string };
    }) => {
      if (header !== undefined) said.push(`${type} ${header.id}`);
    },
    summary: () => said.push("summary"),
  };
  const question = async (): Promise<string> => {
    asking += 1;
    return "y";
  };
  const options = {
    agent: "clerk",
    key: "hf_test",
    delivery: "queue",
    thread: "t",
    url: () => url,
  };
  const agent = connect(options, renderer);
  const approvals = new Approvals({ agent, renderer, question });
  const session = new Session({ agent, renderer, approvals, options });
  return { session, said, asked: () => asking };
}

test("[A5] what waits in a thread is shown and asked about, and its run followed to the end", async () => {
  frames = [
    asked(7, "evt_2", 2),
    asked(8, "evt_1", 1),
    event(9, "approval.decided", { decision: "denied" }, { cause: "evt_1" }),
    { seq: 9, name: "caught_up", data: {} },
  ];
  const at = terminal();
  await at.session.takeUp();
  expect(at.said[0]).toContain("a call waits for a person");
  expect(at.said.slice(1, 3)).toEqual(["approval.requested evt_2", "approval.requested evt_1"]);
  expect(at.said.at(-1)).toBe("summary");
  // Nobody is asked about what was decided before.
  expect(at.asked()).toBe(1);
  const stream = requests.find(({ url: path }) => path.includes("/events?"));
  expect(stream).toMatchObject({ url: expect.stringContaining("run=run_1"), lastId: "6" });
  const decisions = requests.filter(({ method }) => method === "POST");
  expect(decisions.map(({ url: path, body }) => [path, JSON.parse(body)])).toEqual([
    ["/v1/agents/clerk/threads/t/approvals/evt_2/decision", { decision: "approve" }],
  ]);
  expect(at.session.isBusy).toBe(false);
});

test("[A5] a run that was only taken up is not the terminal's to cancel", async () => {
  frames = [asked(7, "evt_2", 2)];
  const at = terminal();
  const following = at.session.takeUp();
  await expect.poll(() => at.said).toContain("approval.requested evt_2");
  expect(at.session.isBusy).toBe(false);
  at.session.leave();
  await expect(following).rejects.toThrow();
  expect(requests.filter(({ method }) => method === "POST")).toEqual([]);
});

test("[A5] a thread where nothing waits, and one that is not there, begin at the prompt", async () => {
  open = [];
  const at = terminal();
  await at.session.takeUp();
  expect(at.said).toEqual([]);
  expect(requests).toHaveLength(1);
});

test.each([
  ["a conversation", [], "decision"],
  ["a question", ["go on"], "this message supersedes it"],
] as const)("[A1] without a terminal %s says what waits", async (_, words, hint) => {
  frames = [event(10, "run.completed", { finish: "stop" })];
  const args = ["--url", url, "--key", "hf_test", "--agent", "clerk", "--thread", "t", ...words];
  const child = spawn(process.execPath, [CHAT, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end();
  let output = "";
  child.stdout.on("data", (text) => (output += String(text)));
  await new Promise((done) => child.once("close", done));
  expect(output).toContain("a call waits for a person");
  expect(output).toContain(hint);
  if (words.length === 0) {
    expect(output).toContain("wire waits for your approval");
    expect(output).toContain("/approvals/evt_2/decision");
  }
});
