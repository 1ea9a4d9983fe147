/** What the scripted model of the crash suites says: twenty steps with every kind of effect, then an answer. Pure. */

export const STEPS = 20;

export interface ScriptedCall {
  readonly tool: CrashTool;
}
export const CRASH_TOOLS = ["look", "store", "book", "pay", "note"] as const;
/** read, idempotent, reconcile, once, and idempotent with a file. */
export type CrashTool = (typeof CRASH_TOOLS)[number];

export function messageOf(run: string): string {
  return `Please do run <${run}>.`;
}

export function nameIn(text: string): string {
  return /<([\w-]+)>/.exec(text)?.[1] ?? "";
}

/** The answer of one step of one run. A pure function of its position, as a provider at temperature 0 would be. */
export function script(
  run: string,
  step: number,
): { readonly text: readonly string[]; readonly calls: readonly ScriptedCall[] } {
  if (step > STEPS) return { text: finalText(run).split(/(?<= )/), calls: [] };
  const tool = (index: number): ScriptedCall => ({
    tool: CRASH_TOOLS[index % CRASH_TOOLS.length] ?? "look",
  });
  const calls = step % 3 === 0 ? [tool(step), tool(step + 2)] : [tool(step)];
  return { text: ["Step ", `${step} `, "of ", `${run}.`], calls };
}

export function finalText(run: string): string {
  return `Run ${run} is done: twenty steps, each effect as often as it should be, and this is all there is to say.`;
}

/** Every call of a whole run. */
export function scriptedCalls(
  run: string,
): readonly { readonly step: number; readonly tool: CrashTool }[] {
  return Array.from({ length: STEPS }, (_, index) => index + 1).flatMap((step) =>
    script(run, step).calls.map(({ tool }) => ({ step, tool })),
  );
}
