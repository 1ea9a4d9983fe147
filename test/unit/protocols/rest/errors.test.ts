import { describe, expect, it } from "vitest";
import { PROBLEMS, failure, problemResponse, toProblem } from "#protocols/rest/errors.ts";
import { codesOf } from "#test/support/error-codes.ts";

const CODES = codesOf();

describe("problem documents", () => {
  it("[P1] every error code has a status and a title of its own", () => {
    expect(Object.keys(PROBLEMS).toSorted()).toEqual(CODES.toSorted());
    const titles = CODES.map((code) => PROBLEMS[code].title);
    expect(new Set(titles).size).toBe(CODES.length);
    for (const code of CODES)
      expect(PROBLEMS[code].status).toSatisfy((status: number) => status >= 400 && status <= 503);
  });

  it.each(CODES)("[P1] %s is one shape, with its code and the request's id", async (code) => {
    const response = problemResponse(failure(code, "words", { a: 1 }), { requestId: "req_1" });
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const body = await response.json<Record<string, unknown>>();
    expect(Object.keys(body)).toEqual([
      "type",
      "title",
      "status",
      "code",
      "detail",
      "retryable",
      "requestId",
      "context",
    ]);
    expect(body).toMatchObject({
      code,
      status: response.status,
      requestId: "req_1",
      type: `urn:holdfast:problem:${code}`,
    });
  });

  it.each(
    CODES.filter(
      (code) =>
        code === "not_found" || PROBLEMS[code].status === 401 || PROBLEMS[code].status >= 500,
    ),
  )("[Z5] %s says nothing beyond its title", (code) => {
    const problem = toProblem(
      failure(code, "SELECT secret FROM table", { path: "/home/ada" }),
      "req_1",
    );
    expect(JSON.stringify(problem)).not.toMatch(/secret|ada/);
    expect(problem.detail).toBe(PROBLEMS[code].title);
  });

  it("[P1] says when to come back where that helps", () => {
    const after = (code: "unavailable" | "queue_full" | "conflict" | "log_corrupt") =>
      problemResponse(failure(code), { requestId: "r" }).headers.get("retry-after");
    expect([
      after("unavailable"),
      after("queue_full"),
      after("conflict"),
      after("log_corrupt"),
    ]).toEqual(["1", "1", null, null]);
  });
});
