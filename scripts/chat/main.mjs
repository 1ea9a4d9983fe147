/**
 * `npm run chat`: talks to an agent from a terminal through the client of `client/`, with no package. Streams the answer,
 * shows each tool call, and outlives the server: when it goes away in the middle, this waits and goes on where it was.
 */
import { HoldfastError } from "../../client/errors.ts";
import { connect } from "./connect.mjs";
import { Approvals } from "./approvals.mjs";
import { USAGE, parseOptions } from "./options.mjs";
import { Renderer } from "./render.mjs";
import { converse, createQuestion } from "./repl.mjs";
import { Session } from "./session.mjs";

const INTERRUPTED = 130;

function readOptions() {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}\n`);
    process.exit(2);
  }
}

const options = readOptions();
if (options.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
if (options.key === null) {
  process.stderr.write(
    "No key: run `npm start` in another terminal first, or give --key and --url.\n",
  );
  process.exit(2);
}

const renderer = new Renderer(process.stdout);
const agent = connect(options, renderer);
const approvals = new Approvals({ agent, renderer, question: createQuestion(onInterrupt) });
const session = new Session({ agent, renderer, approvals, options });

function onInterrupt() {
  if (!session.isBusy || session.isCancelling) {
    session.leave();
    process.exit(INTERRUPTED);
  }
  session.cancel().catch((error) => renderer.problem(error.message));
}
process.on("SIGINT", onInterrupt);

try {
  for (const file of options.files) await session.upload(file);
  if (options.question === null) {
    await converse({ session, renderer, onInterrupt, goesOn: !options.isNewThread });
  } else {
    if (!options.isNewThread) await session.showWaiting("this message supersedes it");
    const completed = await session.ask(options.question);
    if (options.isNewThread) {
      const where = ["--thread", session.thread, ...options.where].join(" ");
      renderer.note(`go on: npm run chat -- ${where}`);
    }
    process.exitCode = completed ? 0 : 1;
  }
} catch (error) {
  const code = error instanceof HoldfastError ? ` (${error.code})` : "";
  renderer.problem(`${error.message}${code}`);
  process.exitCode = 1;
}
