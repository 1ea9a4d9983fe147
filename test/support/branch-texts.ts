/** What a reader of a branch is shown and what its next prompt holds, as texts; and the answers of commands, unwrapped. */
import type { BranchDriver } from "./branch-driver.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import type { KernelDriver } from "./kernel-driver.ts";

/** The texts of the newest prompt, in order. */
export function prompt(driver: KernelDriver): readonly string[] {
  return (driver.prompts.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === "tool"
      ? message.content.map((part) => part.output)
      : message.content.flatMap((part) =>
          part.type === "call" ? [`call ${part.name}`] : [part.text],
        ),
  );
}

export interface Branched {
  readonly driver: KernelDriver;
  readonly branches: BranchDriver;
}

/** The texts that a reader of `branch` is shown, in order of the log. */
export function shown({ driver, branches }: Branched, branch: string): readonly string[] {
  const { segments, without } = branches.history.membership(driver.state, branch);
  return segments.flatMap(({ from, to }) =>
    driver.events.slice(from - 1, to).flatMap(textOf(without)),
  );
}
function textOf(without: ReadonlySet<number>): (event: ThreadEvent) => readonly string[] {
  return (event) => {
    if (without.has(event.header.seq)) return [];
    if (event.type === "input.received") return [event.payload?.text ?? ""];
    if (event.type !== "model.answered") return [];
    return (event.payload?.parts ?? []).flatMap((part) =>
      part.type === "text" ? [part.text] : [],
    );
  };
}

export const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
export const reason = (result: { ok: boolean; error?: { reason: string } }): string | undefined =>
  result.error?.reason;
