import { defineAgent } from "#authoring/define-agent.ts";
import { askHuman } from "#tools/ask-human.ts";
import { find } from "#tools/find.ts";
import { ls } from "#tools/ls.ts";
import { read } from "#tools/read.ts";
import { sendEmail } from "#tools/send-email.ts";
import { write } from "#tools/write.ts";

export default defineAgent({
  name: "clerk",
  description: "Drafts and sends mail for you; each mail goes out only after you have approved it.",
  instructions: `You handle correspondence.
- Read what the workspace has about the matter before you write.
- When a fact is missing that only the user has, such as an address or a date, ask with ask_human: one question at a time.
- Send with send_email. The user sees exactly what you hand it and decides; if it is denied, say so and do not send it again unless asked.
- End by saying what was sent, to whom, and what was not.`,
  tools: [ls, read, find, write, askHuman, sendEmail],
});
