/**
 * The next move of `embedded/scripted`, from the messages alone: look at the files, look at one file, compute, write
 * when asked to, answer. A pure function: the same messages give the same move, and each move is one call or the end.
 */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import type { ModelRequest } from "#ports/model.ts";
import {
  type Answer,
  renderProblem,
  renderProfile,
  renderQuery,
  show,
  toExamples,
} from "./answer.ts";
import { lineSearchCode, queryCode, tableProfileCode, textProfileCode } from "./code-gen.ts";
import { toTerms } from "./columns.ts";
import { type Intent, namedFiles, readIntent, type Report, withoutFiles } from "./intent.ts";
import { readMail } from "./mail.ts";
import { parseQuery } from "./parse-query.ts";
import type { Query } from "./query.ts";
import { objects, type Profile, readProfile, type TableProfile } from "./table.ts";
import { readJson, readListing, readTurn, readValue, type Step, type Turn } from "./turn.ts";
import { nameWords, tokenise } from "./words.ts";

export type Move =
  | {
      readonly type: "call";
      readonly say: string;
      readonly name: string;
      readonly argsText: string;
      readonly number: number;
    }
  | { readonly type: "answer"; readonly answer: Answer };

/** Far above what any of the rules needs, so that a surprise ends instead of looping. */
const MAX_CALLS = 6;

const SWITCH =
  "A real model answers freely: set HOLDFAST_MODEL, e.g. to openai-compatible/llama3.2 for a local Ollama, and start again.";
const ABILITIES =
  "I can count, filter, group, average, rank and list rows of a CSV, search a text, describe a file and write a report.";

interface Conversation {
  readonly turn: Turn;
  readonly intent: Intent;
  readonly tools: ReadonlySet<string>;
}

export function nextMove(request: ModelRequest): Move {
  const turn = readTurn(request.messages);
  const talk: Conversation = {
    turn,
    intent: readIntent(turn.text),
    tools: new Set(request.tools.map((tool) => tool.name)),
  };
  if (talk.intent.kind === "directives") return nextDirective(talk.intent, turn);
  const mail = talk.tools.has("send_email") ? readMail(turn.text) : null;
  if (mail !== null) return sendMail(talk, mail);
  if (talk.intent.kind === "small_talk")
    return say(
      `Hello. I am a small set of rules, not a language model. ${ABILITIES} Upload a file to this thread and ask about it. ${SWITCH}`,
    );
  if (!talk.tools.has("run_code"))
    return say(`I answer with the tool \`run_code\`, and this agent does not have it. ${SWITCH}`);
  const failed = turn.steps.find((step) => step.isError);
  if (failed !== undefined)
    return say(
      `The tool \`${failed.name}\` failed, so I have no answer:\n\n> ${clip(failed.output, 600)}`,
    );
  if (turn.steps.length >= MAX_CALLS)
    return say(`I stopped after ${turn.steps.length} tool calls without an answer.`);
  return chooseFile(talk);
}

function nextDirective({ calls }: Extract<Intent, { kind: "directives" }>, turn: Turn): Move {
  const next = calls[turn.steps.length];
  if (next !== undefined)
    return {
      type: "call",
      say: "",
      name: next.name,
      argsText: next.argsText,
      number: turn.calls + 1,
    };
  const results = turn.steps.map(
    (step) =>
      `\`${step.name}\` ${step.isError ? "failed" : "answered"}:\n\n\`\`\`\n${clip(step.output, 1500)}\n\`\`\``,
  );
  return say(results.join("\n\n"));
}

function sendMail(talk: Conversation, mail: JsonObject): Move {
  const [sent] = talk.turn.steps;
  if (sent === undefined)
    return call(talk, { say: "I put it in your words.", name: "send_email", args: mail });
  return say(
    sent.isError
      ? `Nothing was sent:\n\n> ${clip(sent.output, 600)}`
      : `It is sent to ${String(mail["to"])}. Its copy lies in the folder \`outbox\`.`,
  );
}

function chooseFile(talk: Conversation): Move {
  const { turn, tools } = talk;
  const listing = turn.steps[0];
  if (listing === undefined) {
    const say = "I look at the files first.";
    return tools.has("find")
      ? call(talk, { say, name: "find", args: { glob: "**" } })
      : runCode(talk, say, "return listFiles();");
  }
  const files = readListing(
    listing.name === "run_code" ? JSON.stringify(readValue(listing.output)) : listing.output,
  );
  const choice = pickFile(files, turn);
  if (choice.path === null) return say(choice.message);
  if (talk.intent.kind === "search") return search(talk, choice.path, talk.intent.needle);
  return lookAt(talk, choice.path);
}

type Choice = { readonly path: string } | { readonly path: null; readonly message: string };

function pickFile(files: readonly string[], { text, earlier }: Turn): Choice {
  const own = files.filter((path) => /\.(?:csv|tsv|txt|md|log|jsonl?|html|xml|ya?ml)$/i.test(path));
  const listed = own.map((path) => `\`${path}\``).join(", ");
  const [named] = namedFiles(text);
  if (named !== undefined) {
    const path =
      own.find((file) => file === named) ?? own.find((file) => baseName(file) === baseName(named));
    if (path !== undefined) return { path };
    return {
      path: null,
      message: `There is no file \`${named}\` in this thread.${own.length === 0 ? " " + UPLOAD : ` It holds ${listed}.`}`,
    };
  }
  const asked = new Set(tokenise(text).map((token) => token.stem));
  const hinted = own.filter((path) =>
    nameWords(baseName(path).replace(/\.\w+$/, "")).every((word) => asked.has(word)),
  );
  const tables = own.filter((path) => /\.(?:csv|tsv)$/i.test(path));
  const candidates = hinted.length > 0 ? hinted : tables.length > 0 ? tables : own;
  const [only, ...others] = candidates;
  if (only === undefined) return { path: null, message: UPLOAD };
  if (others.length === 0) return { path: only };
  const recent = earlier.flatMap((message) =>
    candidates.filter((path) => message.includes(path)),
  )[0];
  if (recent !== undefined) return { path: recent };
  return {
    path: null,
    message: `This thread holds ${listed}. Please name the file you mean, e.g. "describe ${only}".`,
  };
}

const UPLOAD =
  "This thread has no file yet. Upload a CSV or text file to it (`/file PATH` in the chat client, or a PUT to the thread's files over HTTP) and ask again.";

function search(talk: Conversation, path: string, needle: string): Move {
  const [, ...searches] = talk.turn.steps;
  const found = searches
    .map(({ name, output }) => (name === "grep" ? readJson(output) : readValue(output)))
    .find((value) => isJsonObject(value));
  if (found === undefined) {
    const say = `I search \`${path}\`.`;
    // Many long matches come as a cut preview, which has no count; then code counts.
    const greps = searches.length === 0 && talk.tools.has("grep") && !/[*?]/.test(path);
    if (greps)
      return call(talk, {
        say,
        name: "grep",
        args: { text: needle, glob: path, ignoreCase: true },
      });
    return runCode(talk, say, lineSearchCode(path, needle));
  }
  const lines = objects(found["matches"])
    .slice(0, 10)
    .map((line) => `- line ${show(line["line"])}: ${String(line["text"])}`);
  const total = Number(found["total"] ?? 0);
  const shown = lines.length < total ? ` The first ${lines.length}:` : "";
  return finish({
    text: `"${needle}" occurs in **${show(total)}** lines of \`${path}\`.${shown}\n\n${lines.join("\n")}`.trim(),
    headline: total,
  });
}

function lookAt(talk: Conversation, path: string): Move {
  const question = withoutFiles(talk.turn.text);
  const isTable = /\.(?:csv|tsv)$/i.test(path);
  const [, look, ...later] = talk.turn.steps;
  if (look === undefined) {
    const code = isTable
      ? tableProfileCode(path, toTerms(tokenise(question)))
      : textProfileCode(path);
    return runCode(talk, `I look at \`${path}\`.`, code);
  }
  const profile = readProfile(readValue(look.output));
  if (profile === null)
    return say(
      `I could not read what \`run_code\` answered about \`${path}\`:\n\n> ${clip(look.output, 300)}`,
    );
  if (profile.kind === "text") return aboutText(talk, profile, later);
  if (profile.columns.length === 0)
    return say(`\`${path}\` has a header but no rows, or is empty: there is nothing to compute.`);
  return aboutTable(talk, { profile, question, later });
}

function aboutText(
  talk: Conversation,
  profile: Extract<Profile, { kind: "text" }>,
  later: readonly Step[],
): Move {
  const report = reportOf(talk.intent);
  const answer = renderProfile(profile);
  if (report !== null) return writeReport(talk, { profile, report, answer, later });
  const { text } = talk.turn;
  if (/\bhow many words\b|\bword count\b|\bcount (?:the |all )?words\b/i.test(text))
    return finish({
      text: `**${show(profile.words)}** words in \`${profile.path}\`.`,
      headline: profile.words,
    });
  if (/\bhow many lines\b|\bline count\b|\bcount (?:the |all )?lines\b/i.test(text))
    return finish({
      text: `**${show(profile.lines)}** lines in \`${profile.path}\`.`,
      headline: profile.lines,
    });
  if (
    /\b(?:describe|summari[sz]e|summary|overview|what(?:'s| is) in|look at|show|read|about)\b/i.test(
      text,
    )
  )
    return finish(answer);
  return say(
    `That question is beyond my rules for a text file. I can count its lines and words, search it ("search for ..."), or show how it begins. ${SWITCH}`,
  );
}

interface TableTalk {
  readonly profile: TableProfile;
  readonly question: string;
  readonly later: readonly Step[];
}

function aboutTable(talk: Conversation, { profile, question, later }: TableTalk): Move {
  const report = reportOf(talk.intent);
  const parsed = parseQuery(report === null ? question : withoutReport(question), profile);
  if (!parsed.ok && !(report !== null && parsed.error.reason === "beyond")) {
    const examples = toExamples(profile)
      .map((example) => `- ${example}`)
      .join("\n");
    return say(
      `${renderProblem(parsed.error, profile)}\n\n${ABILITIES} For example:\n${examples}\n\n${SWITCH}`,
    );
  }
  const asked: Query = parsed.ok ? parsed.value.query : { kind: "describe" };
  const query =
    report !== null && asked.kind === "describe" ? (breakdown(profile) ?? asked) : asked;
  if (query.kind !== "describe" && later.length === 0) {
    return runCode(talk, "Now I compute it.", queryCode(profile.path, profile.delimiter, query));
  }
  const value: Json = query.kind === "describe" ? null : readValue(later[0]?.output ?? "");
  const result = renderQuery(query, value, profile);
  if (report !== null)
    return writeReport(talk, {
      profile,
      report,
      answer: result,
      later: query.kind === "describe" ? later : later.slice(1),
    });
  const nouns = parsed.ok && query.kind !== "describe" ? parsed.value.rowNouns : [];
  const note = nouns.length > 0 ? ` I took "${nouns.join(", ")}" to mean the rows.` : "";
  return finish({ ...result, text: `${result.text}${note}` });
}

interface ReportTalk {
  readonly profile: Profile;
  readonly report: Report;
  readonly answer: Answer;
  readonly later: readonly Step[];
}

function writeReport(talk: Conversation, { profile, report, answer, later }: ReportTalk): Move {
  const path = report.path ?? `${baseName(profile.path).replace(/\.\w+$/, "")}-report.md`;
  if (later.length > 0) {
    return finish({
      text: `I wrote the report to \`${path}\`. It says:\n\n${answer.text}`,
      headline: answer.headline,
    });
  }
  const described = renderProfile(profile).text;
  const detail = answer.text === described ? "" : `\n\n## Result\n\n${answer.text}`;
  const content = `# Report on ${profile.path}\n\n${described}${detail}\n\nWritten by embedded/scripted: rules, not a language model.\n`;
  const say = `I write the report to \`${path}\`.`;
  if (talk.tools.has("write")) return call(talk, { say, name: "write", args: { path, content } });
  return runCode(
    talk,
    say,
    `writeFile(${JSON.stringify(path)}, ${JSON.stringify(content)});\nreturn ${JSON.stringify(path)};`,
  );
}

/** What a report of a whole table says beside its columns: means for each value of its clearest category. */
function breakdown(profile: TableProfile): Query | null {
  const by = profile.columns.find(
    (column) => column.type === "text" && column.distinct >= 2 && column.distinct <= 12,
  );
  if (by === undefined) return null;
  const numeric = profile.columns.filter(
    (column) =>
      column.type === "number" &&
      column.distinct > 2 &&
      !/\b(?:id|year|code|index|no)\b/.test(nameWords(column.name).join(" ")),
  );
  const measures = [
    { op: "count" as const },
    ...numeric.slice(0, 3).map((column) => ({ op: "mean" as const, column: column.name })),
  ];
  return {
    kind: "aggregate",
    measures,
    by: [{ column: by.name, part: "value" }],
    filters: [],
    order: null,
    limit: null,
  };
}

function withoutReport(question: string): string {
  return question
    .replace(
      /\b(?:please|write|create|make|save|generate|produce|prepare|me|a|an|the|short|brief|markdown|report|summary|document)\b/gi,
      " ",
    )
    .replace(/^\s*(?:of|on|about|with|for)\b/i, " ");
}

function reportOf(intent: Intent): Report | null {
  return intent.kind === "question" ? intent.report : null;
}
function call(
  { turn }: Conversation,
  { say, name, args }: { readonly say: string; readonly name: string; readonly args: JsonObject },
): Move {
  return { type: "call", say, name, argsText: JSON.stringify(args), number: turn.calls + 1 };
}
function runCode(talk: Conversation, say: string, code: string): Move {
  return call(talk, { say, name: "run_code", args: { code } });
}
function say(text: string): Move {
  return finish({ text, headline: null });
}
function finish(answer: Answer): Move {
  return { type: "answer", answer };
}
function baseName(path: string): string {
  return (path.split("/").at(-1) ?? path).toLowerCase();
}
function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
