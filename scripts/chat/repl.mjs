/** The conversation at the prompt. */
import { createInterface } from "node:readline/promises";

const HELP = `  /file PATH   upload a file into the workspace
  /files       list the workspace
  /again       another answer to the last question
  /clear       forget what was said; files and log stay
  (a call that needs you, or a question to you, asks at the prompt)
  /cancel      cancel the run in progress (or Ctrl-C)
  /new         begin another thread
  /quit        leave (or Ctrl-D)
  Anything else is said to the agent.`;

/** Asks at the prompt that is open, or at one of its own; null where nobody sits at a terminal. */
export function createQuestion(onInterrupt) {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) return null;
  return async (text, signal) => {
    if (prompt !== null) return prompt.question(text, { signal });
    const input = open(onInterrupt);
    try {
      return await input.question(text, { signal });
    } finally {
      input.close();
    }
  };
}

let prompt = null;

function open(onInterrupt) {
  const input = createInterface({ input: process.stdin, output: process.stdout, historySize: 200 });
  input.on("SIGINT", onInterrupt);
  return input;
}

export async function converse({ session, renderer, onInterrupt, goesOn }) {
  const input = open(onInterrupt);
  prompt = input;
  // From here on no line is lost, whatever is done before the first one is read.
  const lines = input[Symbol.asyncIterator]();
  // Piped lines end before they are all answered, and a closed interface has no prompt.
  let closed = false;
  input.once("close", () => (closed = true));
  const begin = () => {
    session.begin();
    renderer.note(`thread ${session.thread}`);
  };
  const commands = new Map([
    ["file", (path) => session.upload(path)],
    ["files", () => session.listFiles()],
    ["again", () => session.again()],
    ["clear", () => session.clear()],
    ["cancel", () => session.cancel()],
    ["new", begin],
    ["help", () => renderer.note(HELP)],
    ["quit", () => input.close()],
  ]);
  renderer.note(`thread ${session.thread}; /help shows commands`);
  input.setPrompt("> ");
  try {
    if (goesOn) await session.takeUp();
  } catch (error) {
    renderer.problem(error.message);
  }
  if (!closed) input.prompt();
  for await (const line of lines) {
    const text = line.trim();
    const [, name, argument = ""] = /^\/(\w+)\s*(.*)$/.exec(text) ?? [];
    const command = commands.get(name);
    try {
      if (command !== undefined) await command(argument.trim());
      // What is no command of this program may be one of the agent's, such as /tool of the embedded model.
      else if (text !== "") await session.ask(text);
    } catch (error) {
      renderer.problem(error.message);
    }
    if (name === "quit") return;
    if (!closed) input.prompt();
  }
}
