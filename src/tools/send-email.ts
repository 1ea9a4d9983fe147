import { z } from "zod";
import { utf8 } from "#shared/json.ts";
import { defineTool } from "#authoring/define-tool.ts";

/**
 * Puts a message into the outbox folder of the workspace, where a mail system would take it from. The file's name is the
 * call's own key and commits with the outcome (T6), so running it again is the same message.
 */
export const sendEmail = defineTool({
  name: "send_email",
  description:
    "Sends one email by putting it into the outbox/ folder. A person approves each one first, seeing exactly these arguments.",
  version: "1",
  effect: "idempotent",
  approval: "always",
  input: z.object({
    to: z.email(),
    subject: z.string().min(1).max(200),
    body: z.string().min(1).max(20_000),
  }),
  execute: ({ to, subject, body }, { files, idempotencyKey, now }) => {
    const path = `outbox/${idempotencyKey}.eml`;
    const lines = [`To: ${to}`, `Subject: ${subject}`, `Date: ${new Date(now).toISOString()}`];
    files.write(path, utf8(`${lines.join("\r\n")}\r\n\r\n${body}\r\n`));
    return { sent: true, to, path };
  },
});
