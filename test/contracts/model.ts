/**
 * The contract of the Model port (#ports/model.ts, M1 to M5), run against every adapter.
 *
 * An adapter under test is made to answer in a named way. Scenarios it cannot be brought to, because nothing outside it
 * can fail, are named in `without`.
 */
import { describe, expect, it } from "vitest";
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";

export type Scenario = "text" | "call" | "malformed_call" | "cut" | "failing" | "hanging";

export interface Subject extends AsyncDisposable {
  readonly model: Model;
  readonly request: ModelRequest;
  /** How often something outside was asked. */
  attempts(): number;
}
export type MakeSubject = (scenario: Scenario) => Promise<Subject>;

/** Put into every place of an error where providers have been seen to echo it. */
export const SECRET = "sk-contract-0123456789abcdef";
/** What a `malformed_call` sends as arguments. */
export const MALFORMED = '{"path": "a.txt", "content": "half';

export function modelContract(
  name: string,
  make: MakeSubject,
  without: readonly Scenario[] = [],
): void {
  const check = (
    title: string,
    scenario: Scenario,
    body: (subject: Subject) => Promise<void>,
  ): void => {
    if (without.includes(scenario)) return;
    it(title, async () => {
      await using subject = await make(scenario);
      await body(subject);
    });
  };

  describe(`Model: ${name}`, () => {
    check("[model M1] one call is one attempt, also when it fails", "failing", async (subject) => {
      const parts = await read(subject);
      expect(subject.attempts()).toBe(1);
      expect(parts.at(-1)).toMatchObject({ type: "error", retryable: true });
    });

    for (const scenario of ["text", "call", "malformed_call", "cut", "failing"] as const) {
      check(
        `[model M2] exactly one terminal part, and it is the last (${scenario})`,
        scenario,
        async (subject) => {
          const parts = await read(subject);
          const terminal = parts.filter((part) => part.type === "finish" || part.type === "error");
          expect(terminal).toHaveLength(1);
          expect(parts.at(-1)).toBe(terminal[0]);
        },
      );
    }

    check("[model M2] text streams in several parts and in order", "text", async (subject) => {
      const parts = await read(subject);
      const texts = parts.filter((part) => part.type === "text");
      expect(texts.length).toBeGreaterThan(1);
      expect(texts.every((part) => part.text !== "")).toBe(true);
      expect(parts.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
    });

    check(
      "[model M2] an answer cut off without a terminal event is stream_incomplete",
      "cut",
      async (subject) => {
        const parts = await read(subject);
        expect(parts.at(-1)).toMatchObject({
          type: "error",
          code: "stream_incomplete",
          retryable: true,
        });
      },
    );

    check("[model M3] a call carries its name and arguments as text", "call", async (subject) => {
      const parts = await read(subject);
      const call = parts.find((part) => part.type === "call");
      expect(call?.name).toMatch(/^\w+$/);
      expect(typeof JSON.parse(call?.argsText ?? "")).toBe("object");
      expect(parts.at(-1)).toMatchObject({ type: "finish", reason: "tool_calls" });
    });

    check(
      "[model M3] malformed arguments are passed on unrepaired",
      "malformed_call",
      async (subject) => {
        const parts = await read(subject);
        expect(parts.find((part) => part.type === "call")).toMatchObject({ argsText: MALFORMED });
      },
    );

    check(
      "[model M4] aborting ends the stream within a second as aborted",
      "hanging",
      async (subject) => {
        const controller = new AbortController();
        const startedAt = performance.now();
        const parts: ModelPart[] = [];
        for await (const part of subject.model.stream(subject.request, {
          signal: controller.signal,
          idempotencyKey: "evt_1",
        })) {
          parts.push(part);
          if (part.type === "text") controller.abort();
        }
        expect(performance.now() - startedAt).toBeLessThan(1000);
        expect(parts.at(-1)).toMatchObject({ type: "error", code: "aborted", retryable: false });
      },
    );

    check("[model M4] a signal that is aborted already asks nobody", "text", async (subject) => {
      const parts = await read(subject, AbortSignal.abort());
      expect(parts).toMatchObject([{ type: "error", code: "aborted" }]);
      expect(subject.attempts()).toBe(0);
    });

    check("[model M5] errors are parts and hold no credentials", "failing", async (subject) => {
      const parts = await read(subject);
      const last = parts.at(-1);
      expect(last?.type).toBe("error");
      expect(JSON.stringify(last)).not.toContain(SECRET);
      expect(JSON.stringify(last)).not.toMatch(/authorization|bearer/i);
    });
  });
}

export async function read(
  { model, request }: Pick<Subject, "model" | "request">,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, { signal, idempotencyKey: "evt_1" }))
    parts.push(part);
  return parts;
}
