import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputCapture, toSandboxOutput } from "#sandbox/output.ts";

function capture(lines: readonly string[], maxBytes: number) {
  const output = new OutputCapture(maxBytes);
  for (const line of lines) output.print(line);
  return { kept: output.kept(), output: toSandboxOutput(output.kept(), maxBytes) };
}

describe("output", () => {
  it("[S3] keeps all that fits, and head and tail of what does not", () => {
    expect(capture(["ab", "c"], 3).output).toEqual({
      stdout: "abc",
      stdoutBytes: 3,
      truncated: false,
    });
    const { output } = capture([`${"a".repeat(500)}${"z".repeat(500)}`], 200);
    expect(output).toMatchObject({ stdoutBytes: 1_000, truncated: true });
    expect(output.stdout).toMatch(
      /^a+\n\[\.\.\. 1000 bytes printed, the middle is cut \.\.\.\]\nz+$/,
    );
    expect(output.stdout).toHaveLength(200);
  });

  it("[S3] holds no more than twice its cap whatever is printed", () => {
    const { kept } = capture(
      Array.from({ length: 1_000 }, () => "x".repeat(1_000)),
      100,
    );
    expect(kept.head.length + kept.tail.length).toBeLessThanOrEqual(200);
    expect(kept.bytes).toBe(1_000_000);
  });

  it("[S3] never passes its cap, never cuts a character, and counts every byte", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 60 }), { maxLength: 20 }),
        fc.integer({ min: 0, max: 300 }),
        (lines, maxBytes) => {
          // A replacement character of the program's own would look like one that cutting made.
          const printed = lines.map((line) => line.replaceAll("\ufffd", "?"));
          const whole = printed.join("");
          const { output } = capture(printed, maxBytes);
          expect(output.stdoutBytes).toBe(Buffer.byteLength(whole));
          expect(Buffer.byteLength(output.stdout)).toBeLessThanOrEqual(maxBytes);
          expect(output.truncated).toBe(output.stdoutBytes > maxBytes);
          expect(output.stdout.isWellFormed() && !output.stdout.includes("\ufffd")).toBe(true);
          if (!output.truncated) expect(output.stdout).toBe(whole);
        },
      ),
      { numRuns: 500 },
    );
  });
});
