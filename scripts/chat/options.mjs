/** Command line of the terminal client. */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { devState, readJson } from "../lib/dev-state.mjs";
import { ROOT } from "../lib/project.mjs";

const DEFAULT_URL = "http://127.0.0.1:8787";

export const USAGE = `Usage: npm run chat -- [options] ["question"]

Without a question it is a conversation; with one it answers and ends, with a non-zero code when the run failed.

  --file PATH     put a file into the agent's workspace first; may be given several times
  --agent NAME    default analyst
  --delivery D    when a run is active: queue (default), steer, reject or interrupt
  --thread ID     go on with a thread instead of beginning one
  --url URL       default: the server that npm start runs
  --key KEY       default: the key that npm start made, or HOLDFAST_KEY
  --state DIR     where npm start keeps its state, default .holdfast`;

const DEFAULTS = { agent: "analyst", state: ".holdfast" };

export function parseOptions(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      agent: { type: "string", default: DEFAULTS.agent },
      delivery: { type: "string", default: "queue" },
      thread: { type: "string" },
      file: { type: "string", multiple: true, default: [] },
      url: { type: "string" },
      key: { type: "string" },
      state: { type: "string", default: DEFAULTS.state },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const state = devState(resolve(ROOT, values.state));
  const readDev = () => readJson(state.client);
  return {
    help: values.help,
    agent: values.agent,
    thread: values.thread ?? newThreadId(),
    isNewThread: values.thread === undefined,
    delivery: values.delivery,
    files: values.file,
    question: positionals.length === 0 ? null : positionals.join(" "),
    key: values.key ?? process.env.HOLDFAST_KEY ?? readDev()?.key ?? null,
    /** What a later command needs beside the thread to meet it again. */
    where: ["agent", "state", "url"].flatMap((name) =>
      values[name] === undefined || values[name] === DEFAULTS[name]
        ? []
        : [`--${name}`, values[name]],
    ),
    // Asked again at each attempt: a server that was started again may have another port.
    url: () => (values.url ?? readDev()?.url ?? DEFAULT_URL).replace(/\/+$/, ""),
  };
}

export function newThreadId() {
  return `chat-${randomBytes(6).toString("hex")}`;
}
