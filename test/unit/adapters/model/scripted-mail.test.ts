/** What `embedded/scripted` makes of a sentence that asks for a mail. */
import { describe, expect, it } from "vitest";
import { readMail } from "#adapters/model/embedded/mail.ts";
import { sendEmail } from "#tools/send-email.ts";

describe("a mail in a sentence", () => {
  it.each([
    ["Email ada@example.com: does Friday at ten suit you?", "Does Friday at ten suit you?"],
    ["Send an email to ada@example.com that says hello", "Hello."],
    ["Please email the report to ada@example.com", "The report."],
    ["Tell ada@example.com that the launch is on 12 March.", "The launch is on 12 March."],
    ['mail ada@example.com saying "See you!"', "See you!"],
    ["email ada@example.com", "Hello."],
  ])("%s", (text, body) => {
    const mail = readMail(text);
    expect(mail).toMatchObject({ to: "ada@example.com", body });
    expect(sendEmail.parse(mail ?? {}).ok).toBe(true);
  });

  it.each(["How many rows have ada@example.com as owner?", "Email Ada about Friday", "hello"])(
    "%s asks for none",
    (text) => expect(readMail(text)).toBeNull(),
  );
});
