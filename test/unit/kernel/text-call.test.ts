import { describe, expect, test } from "vitest";
import { findTextCall } from "#kernel/text-call.ts";

const TOOLS = [{ name: "pay" }, { name: "look_up" }];
const CALL = '{"name":"pay","arguments":{"amount":1}}';

describe("a call in text", () => {
  test.each([
    CALL,
    `[${CALL}]`,
    `\`\`\`json\n${CALL}\n\`\`\``,
    `I will pay now.\n\`\`\`tool_call\n${CALL}\n\`\`\``,
    `<tool_call>${CALL}</tool_call>`,
    `Sure.\n<tool_call>\n${CALL}\n</tool_call>`,
    `<|python_tag|>{"name":"pay","parameters":{}}`,
    `[TOOL_CALLS] [${CALL}]`,
    "<function=pay>{}</function>",
    "<tool_call><function=pay><parameter=amount>1</parameter></function></tool_call>",
    '<function_calls><invoke name="pay"><parameter name="amount">1</parameter></invoke></function_calls>',
    '{"type":"function","function":{"name":"pay","arguments":"{}"}}',
  ])("[K25] in the form %j is recognised", (text) => {
    expect(findTextCall(text, TOOLS)).toBe("pay");
  });

  test.each([
    "",
    "I would call pay with an amount of 1.",
    '{"name":"pay"}',
    '{"name":"refund","arguments":{}}',
    '{"name":"Ada","age":36}',
    `Use it like this:\n\`\`\`json\n${CALL}\n\`\`\`\nThen wait for the result.`,
    `<tool_call>${CALL}</tool_call> is how a call looks; I made none.`,
    `<tool_call>{"name":"pay","argu`,
    "[".repeat(100_000),
    `${CALL}${" ".repeat(10)}x`.repeat(3_000),
  ])("[K25] is not seen in %j", (text) => {
    expect(findTextCall(text, TOOLS)).toBeNull();
  });

  test("[K25] of an agent without tools is text", () => {
    expect(findTextCall(CALL, [])).toBeNull();
  });
});
