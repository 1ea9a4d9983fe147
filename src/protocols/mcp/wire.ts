/** What MCP clients send to the tools of an agent's server, and what they get. One schema validates and is listed. */
import { z } from "zod";
import { isThreadId, type ThreadId } from "#shared/ids.ts";

const ThreadIdText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)
  .describe("A thread: one lasting conversation. Your own id, or one that a tool gave.");
const RunIdText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)
  .describe("A run, as `ask` or `start_run` named it.");

export const AskInput = z.strictObject({
  message: z.string().min(1).max(200_000).describe("What to ask the agent, in plain words."),
  thread: ThreadIdText.optional().describe("The thread to go on with; absent begins a new one."),
});
export const RunInput = z.strictObject({ thread: ThreadIdText, run: RunIdText });
export const AnswerInput = z.strictObject({
  thread: ThreadIdText,
  approval: z.string().min(1).max(64).describe("The approval or question, as a run named it."),
  decision: z
    .enum(["approve", "deny", "answer"])
    .describe("approve or deny what would run; answer a question."),
  answer: z.unknown().optional().describe("For `answer`: what the question's schema asks for."),
  comment: z.string().max(1_000).optional(),
});
export const ListInput = z.strictObject({
  limit: z.int().min(1).max(100).default(20),
});

const Waiting = z.strictObject({
  approval: z.string(),
  kind: z.enum(["tool", "question", "budget"]).nullable(),
  tool: z.string().nullable(),
  /** Exactly what would run. */
  args: z.unknown(),
  question: z.string().nullable(),
  answerSchema: z.unknown(),
});
export const RunOutput = z.strictObject({
  thread: z.string(),
  run: z.string(),
  status: z.enum(["queued", "running", "waiting", "completed", "failed", "cancelled"]),
  finish: z.string().nullable(),
  /** Why it failed, or was cancelled. */
  reason: z.string().nullable(),
  text: z.string().nullable(),
  waiting: z.array(Waiting),
});
export type RunOutput = z.output<typeof RunOutput>;
export const ThreadsOutput = z.strictObject({
  threads: z.array(
    z.strictObject({ thread: z.string(), title: z.string().nullable(), updatedAt: z.int() }),
  ),
});

export function toThreadId(text: string): ThreadId | null {
  return isThreadId(text) ? text : null;
}
