/** The conversation at the prompt. */
import { createInterface } from "node:readline/promises";

const HELP = `  /file PATH   upload a file into the workspace
  /files       list the workspace
  /again       another answer to the last question
  /clear       forget what was said; files and log stay
  (a call that needs you, or a question to you, asks at the prompt)
  /cancel      cancel the run in progress (or Ctrl-C)
  /new         begin another thread
  /quit        leave (or Ctrl-D)`;

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
  const commands = {
    file: (path) => session.upload(path),
    files: () => session.listFiles(),
    again: () => session.again(),
    clear: () => session.clear(),
    cancel: () => session.cancel(),
    new: () => {
      session.begin();
      renderer.note(`thread ${session.thread}`);
    },
    help: () => renderer.note(HELP),
    quit: () => input.close(),
  };
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
    try {
      if (name !== undefined) await (commands[name] ?? commands.help)(argument.trim());
      else if (text !== "") await session.ask(text);
    } catch (error) {
      renderer.problem(error.message);
    }
    if (name === "quit") return;
    if (!closed) input.prompt();
  }
}
