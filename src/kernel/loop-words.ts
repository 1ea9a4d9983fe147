/** The loop guard in words: what the model is told first (B3), and what a person is told when the run was stopped (B4). */
import { exhaustive } from "#shared/exhaustive.ts";
import type { LoopReport } from "./events.ts";

export function loopWarning(report: LoopReport): string {
  return `${describe(report)} Nothing new will come of doing it again, and the run is stopped if it goes on. Use what you have, try another way, or say what is missing.`;
}

export function loopNotice(report: LoopReport): string {
  return `The run was stopped because it went in circles. ${describe(report)}`;
}

function describe({ pattern, tool, count }: LoopReport): string {
  switch (pattern) {
    case "repeat":
      return `The same call of ${tool} was made ${count} times and brought the same result each time.`;
    case "cycle_2":
      return `The last ${count} calls were the same two in turn, with the same results; the last of them was ${tool}.`;
    case "cycle_3":
      return `The last ${count} calls were the same three in turn, with the same results; the last of them was ${tool}.`;
    case "no_progress":
      return `The last ${count} calls brought nothing that had not been seen; the last of them was ${tool}.`;
    case "unknown_tools":
      return `In ${count} steps in a row only tools were called that do not exist; the last of them was ${tool}.`;
    default:
      return exhaustive(pattern);
  }
}
