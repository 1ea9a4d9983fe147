/**
 * `npm run chat`: talks to an agent from a terminal over the public API, with no package. Streams the answer, shows each
 * tool call, and outlives the server: when it goes away in the middle, this waits and goes on where it was.
 */
import { Api, ApiError } from "./chat/api.mjs";
import { Approvals } from "./chat/approvals.mjs";
import { USAGE, parseOptions } from "./chat/options.mjs";
import { Renderer } from "./chat/render.mjs";
import { converse, createQuestion } from "./chat/repl.mjs";
import { Session } from "./chat/session.mjs";

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
let away = false;
const api = new Api(options, (isAway) => {
  if (isAway && !away) renderer.note(`server is away at ${options.url()}, waiting ...`);
  if (!isAway && away) renderer.note("server is back");
  away = isAway;
});
const approvals = new Approvals({ api, renderer, question: createQuestion(onInterrupt) });
const session = new Session({ api, renderer, approvals, thread: options.thread });

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
    if (options.isNewThread) renderer.note(`go on: npm run chat -- --thread ${session.thread}`);
    process.exitCode = completed ? 0 : 1;
  }
} catch (error) {
  const code = error instanceof ApiError && error.code !== null ? ` (${error.code})` : "";
  renderer.problem(`${error.message}${code}`);
  process.exitCode = 1;
}
