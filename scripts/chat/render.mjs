/** What a run looks like in a terminal. Owns what was printed of the answer in progress, so that nothing shows twice. */
const MAX_LINES = 14;
const MAX_WIDTH = 160;
const CODES = { dim: "2", bold: "1", red: "31", green: "32", yellow: "33", cyan: "36" };

export function createStyle(stream) {
  const on = stream.isTTY === true && (process.env.NO_COLOR ?? "") === "";
  const paint = (code) => (text) => (on ? `\u001B[${code}m${text}\u001B[0m` : text);
  return Object.fromEntries(Object.entries(CODES).map(([name, code]) => [name, paint(code)]));
}

/** Control characters of a model or tool must not steer the terminal. */
function printable(text) {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "\uFFFD");
}

function whole(text, indent) {
  return printable(text.replaceAll("\r\n", "\n"))
    .split("\n")
    .map((line) => indent + line)
    .join("\n");
}

export function excerpt(text, indent) {
  const lines = printable(text.trimEnd().replaceAll("\r\n", "\n")).split("\n");
  const shown = lines.slice(0, MAX_LINES).map((line) => clip(line));
  if (lines.length > MAX_LINES) shown.push(`... ${lines.length - MAX_LINES} more lines`);
  return shown.map((line) => indent + line).join("\n");
}

function clip(line) {
  return line.length > MAX_WIDTH ? `${line.slice(0, MAX_WIDTH)}...` : line;
}

function describeArgs(args) {
  return Object.entries(args)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return text.includes("\n")
        ? `${name}:\n${excerpt(text, "      ")}`
        : `${name}: ${clip(printable(text))}`;
    })
    .map((line) => `    ${line}`)
    .join("\n");
}

export function formatCost(micros) {
  if (micros === null) return "unknown";
  return micros === 0 ? "$0" : `$${(micros / 1_000_000).toFixed(6).replace(/0+$/, "")}`;
}

export class Renderer {
  #out;
  #style;
  #streamed = "";
  #midLine = false;

  constructor(out) {
    this.#out = out;
    this.#style = createStyle(out);
  }

  /** One item of a stream. */
  item({ type, text, payload }) {
    if (type === "delta") this.#text(text);
    else if (type === "discard") this.#discard();
    else this.#event(type, payload ?? {});
  }

  note(text) {
    this.#line(this.#style.dim(text));
  }

  problem(text) {
    this.#line(this.#style.red(text));
  }

  summary(run) {
    const parts = [run.status, run.finish === "stop" ? null : run.finish, `${run.steps} steps`];
    parts.push(`${run.tokens} tokens`, `cost ${formatCost(run.costMicros)}`);
    if (run.unpriced > 0) parts.push(`${run.unpriced} calls of unknown price`);
    if (run.recoveryMicros > 0) parts.push(`of it recovery ${formatCost(run.recoveryMicros)}`);
    this.#line(this.#style.dim(`[${parts.filter((part) => part !== null).join(", ")}]`));
  }

  #text(text) {
    this.#streamed += text;
    const safe = printable(text);
    this.#out.write(safe);
    this.#midLine = !safe.endsWith("\n");
  }

  #line(text) {
    if (this.#midLine) this.#out.write("\n");
    this.#midLine = false;
    this.#out.write(`${text}\n`);
  }

  #discard() {
    if (this.#streamed !== "") {
      this.note(
        "(that text was cut off by an interruption and is discarded; the answer begins again)",
      );
    }
    this.#streamed = "";
  }

  #answered(parts) {
    const text = parts.filter((part) => part.type === "text").map((part) => part.text);
    const whole = text.join("");
    // Live text is best effort: what it lacks of the recorded answer is printed from the record.
    if (whole.startsWith(this.#streamed)) this.#text(whole.slice(this.#streamed.length));
    else if (whole !== "") {
      this.#discard();
      this.#text(whole);
    }
    if (this.#midLine) this.#line("");
    this.#streamed = "";
  }

  #result(result) {
    const { cyan, yellow } = this.#style;
    const ok = result.status === "ok";
    const label = ok ? cyan("  = ok") : yellow(`  = ${result.status} ${result.code ?? ""}`);
    this.#line(`${label}\n${excerpt(result.output, "    ")}`);
  }

  /** Whole, whatever its length: what is cut away here would be approved unseen. */
  #approval({ kind, tool, args, question, answerSchema, expiresAt }) {
    const { bold, yellow, dim } = this.#style;
    const shown = kind === "question" ? question : JSON.stringify(args, null, 2);
    const schema =
      kind === "question" && answerSchema !== null ? JSON.stringify(answerSchema) : null;
    const lines = [
      yellow(kind === "question" ? "  ? a question to you" : `  ? ${tool} waits for your approval`),
      bold(whole(shown ?? "(erased)", "    ")),
      ...(schema === null ? [] : [dim(`    answer as JSON that fits ${whole(schema, "")}`)]),
      ...(expiresAt === undefined ? [] : [dim(`    until ${new Date(expiresAt).toISOString()}`)]),
    ];
    this.#line(lines.join("\n"));
  }

  #event(type, payload) {
    const { cyan, yellow, dim } = this.#style;
    switch (type) {
      case "model.answered":
        return this.#answered(payload.parts ?? []);
      case "model.interrupted":
        return this.note(
          "(a model call was cut off by a crash; it is made again and marked as recovery)",
        );
      case "model.failed":
        return this.note(
          `(the model failed: ${payload.code}; ${payload.retryAt === null ? "no retry" : "retrying"})`,
        );
      case "approval.requested":
        return this.#approval(payload);
      case "approval.decided":
        return this.note(
          `  ${payload.decision}${payload.comment ? `: ${printable(payload.comment)}` : ""}`,
        );
      case "tool.started":
        return this.#line(
          `${cyan(`  > ${payload.name}`)}\n${dim(describeArgs(payload.args ?? {}))}`,
        );
      case "tool.finished":
        return this.#result(payload.result ?? { status: "erased", code: null, output: "" });
      case "tool.refused":
        return this.#line(yellow(`  x ${payload.name} refused: ${payload.refusal?.message}`));
      case "tool.interrupted":
        return this.note(`(a tool call was cut off by a crash; next: ${payload.next})`);
      case "file.written":
        return this.note(`  wrote ${payload.path} (${payload.bytes} bytes)`);
      case "file.deleted":
        return this.note(`  deleted ${payload.path}`);
      case "plan.updated":
        return this.note(excerpt(`plan: ${JSON.stringify(payload.items)}`, "  "));
      case "run.failed":
        return this.problem(`The run failed: ${payload.reason}. ${payload.message ?? ""}`);
      case "run.cancelled":
        return this.problem(`The run was cancelled: ${payload.reason}`);
      default:
        return undefined;
    }
  }
}
