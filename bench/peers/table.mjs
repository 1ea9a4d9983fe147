/** The result as a table: one line a measure, one column a contender, and the ratio of ours to the better peer. */
import { NAMES, OURS, PEERS, CONTENDERS } from "./contenders.mjs";

const RUNS = [
  ["instant", "instant model"],
  ["tenMs", "10 ms a model call"],
  ["talking", "instant model, 10 words a step"],
  ["deep", "instant model, 4,000 steps before"],
];

export function table(result) {
  const { machine, versions } = result;
  const lines = [["", ...CONTENDERS.map((name) => NAMES[name]), "ratio", "aim"]];
  for (const [key, what] of RUNS)
    if (result[key] !== undefined) lines.push(...runLines(result[key], what));
  for (const [key, what] of RUNS)
    if (result.rows?.[key] !== undefined) lines.push(...rowLines(result.rows[key], what));
  for (const where of ["tool", "text"])
    if (result.kills !== undefined) lines.push(...killLines(result.kills[where], where));
  if (result.memory !== undefined) lines.push(...memoryLines(result.memory));
  return [
    `${machine.cores} x ${machine.cpu}, ${machine.platform}, load ${result.loadBefore} to ${result.loadAfter}; commit ${result.commit}${result.clean ? "" : " and changes"}; ai-chat ${versions["@cloudflare/ai-chat"]}, think ${versions["@cloudflare/think"]}, agents ${versions.agents}, workerd ${versions.workerd}`,
    ...aligned(lines),
  ];
}

function line(what, values, { aim = "", ratio = true, unit = "" } = {}) {
  const cell = (name) =>
    values[name] === null || values[name] === undefined ? "-" : `${values[name]}${unit}`;
  const best = Math.min(...PEERS.map((name) => values[name]));
  const shown = ratio && best > 0 ? (values[OURS] / best).toFixed(2) : "";
  return [what, ...CONTENDERS.map(cell), shown, aim];
}

const pick = (of, name) => Object.fromEntries(CONTENDERS.map((who) => [who, of[who]?.[name]]));

function runLines(runs, what) {
  const bytes = Object.fromEntries(
    CONTENDERS.map((who) => [who, runs[who].sentBytes + runs[who].receivedBytes]),
  );
  return [
    line(`run, ${what}`, pick(runs, "ms"), { aim: "<= 0.5", unit: " ms" }),
    line("  quickest", pick(runs, "quickestMs"), { unit: " ms" }),
    line("  CPU of workerd", pick(runs, "cpuMs"), { unit: " ms" }),
    line("  bytes on the socket", bytes, { aim: "<= 1" }),
    line("  frames", pick(runs, "frames")),
  ];
}

function rowLines(rows, what) {
  return [
    line(`rows, ${what}`, pick(rows, "first"), { aim: "<= 1.5" }),
    line("  the next run of that thread", pick(rows, "second"), { aim: "<= 1.5" }),
    line("  alarms set", pick(rows, "alarms"), { ratio: false }),
  ];
}

function killLines(kills, where) {
  const what = where === "tool" ? "killed in the tool of step 10" : "killed in the text of step 10";
  return [
    line(what, pick(kills, "kills"), { ratio: false, unit: " times" }),
    line("  goes on after the server is up", pick(kills, "wentOnMs"), {
      ratio: false,
      unit: " ms",
      aim: "<= 200",
    }),
    line("  slowest", pick(kills, "slowestMs"), { ratio: false, unit: " ms" }),
    line("  runs lost", pick(kills, "lost"), { ratio: false, aim: "0" }),
    line("  model calls", pick(kills, "modelCalls"), {
      ratio: false,
      aim: where === "tool" ? "21" : "22",
    }),
    line("  executions of the tool", pick(kills, "toolRuns"), { ratio: false, aim: "20" }),
    ...(where === "text"
      ? [line("  text shown twice", pick(kills, "doubledText"), { ratio: false, aim: "0" })]
      : []),
  ];
}

function memoryLines(memory) {
  const of = (name) => pick(memory, name);
  const options = { ratio: false, unit: " MiB" };
  return [
    line("workerd after one run", of("baseMiB"), options),
    line("  more with 100 sockets on one thread", of("socketsOpen"), options),
    line("  more 15 s later", of("socketsIdle"), options),
    line("  more with 1,000 threads, a socket each", of("threadsOpen"), options),
    line("  more 15 s later", of("threadsIdle"), options),
    line("  more with the sockets closed", of("threadsClosed"), options),
  ];
}

function aligned(lines) {
  const widths = lines[0].map((_, column) =>
    Math.max(...lines.map((cells) => cells[column].length)),
  );
  return lines.map((cells) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
      )
      .join("  ")
      .trimEnd(),
  );
}
