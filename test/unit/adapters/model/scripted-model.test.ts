/** What `embedded/scripted` refuses, chooses and writes, and how it behaves as a model. */
import { describe, expect, it } from "vitest";
import { SCRIPTED_LABEL, ScriptedModel } from "#adapters/model/embedded/scripted-model.ts";
import { ask, collect, filesOf, type Session, toRequest } from "#test/support/scripted-session.ts";

describe("embedded/scripted says no instead of answering another question", () => {
  it.each([
    ["penguins.csv", "how many penguins live on the moon?", '"moon"'],
    ["penguins.csv", "how many Dodo penguins are there?", '"Dodo"'],
    ["penguins.csv", "average wingspan by species", '"wingspan"'],
    ["penguins.csv", "what is the average bill?", "`bill_length_mm` or `bill_depth_mm`"],
    ["penguins.csv", "average species", "does not hold numbers"],
    ["penguins.csv", "Why do penguins like fish?", "beyond my rules"],
    ["orders.csv", "how many orders are over 1000?", '"1000"'],
    ["employees.csv", "how many employees resigned last summer?", '"summer"'],
    ["employees.csv", "percentage of remote employees by department", "beyond my rules"],
  ])("%s: %s", async (file, question, expected) => {
    const session = await ask(question, filesOf(file));
    expect(session.text).toContain(expected);
    expect(session.text).toContain("HOLDFAST_MODEL");
    expect(session.calls).toHaveLength(2);
    // Its own three examples must be answered.
    const examples = [...session.text.matchAll(/^- (.+)$/gm)].map(([, example]) => example ?? "");
    expect(examples).toHaveLength(3);
    for (const example of examples)
      expect((await ask(example, filesOf(file))).text).toMatch(/Read as:|columns:/);
  });
});

describe("embedded/scripted takes no part of the rows for all of them", () => {
  const PASSENGERS =
    "PassengerId,Survived,Sex,Age,Embarked\n1,0,male,22,S\n2,1,female,38,C\n3,1,female,26,S\n4,1,male,4,S\n";
  it.each([
    ["how many women survived?", "**2**"],
    ["How many passengers embarked at S?", "**3**"],
    ["average age of passengers who survived", "**22.67**"],
    ["average age of survivors", '"survivors"'],
    ["how many children survived?", '"children"'],
    ["how many passengers died?", '"died"'],
  ])("%s", async (question, expected) => {
    expect((await ask(question, new Map([["p.csv", PASSENGERS]]))).text).toContain(expected);
  });
});

describe("embedded/scripted chooses the file", () => {
  it("takes the only table, whatever else lies there", async () => {
    expect((await ask("how many rows?", filesOf("notes.txt", "orders.csv"))).text).toContain(
      "**80**",
    );
  });
  it("takes the file that is named, by path, by name or in words", async () => {
    const files = filesOf("orders.csv", "penguins.csv");
    for (const question of [
      "how many rows in orders.csv?",
      "how many rows are in the orders file?",
      "how many rows in ORDERS.CSV",
    ]) {
      expect((await ask(question, files)).text).toContain("**80**");
    }
  });
  it("asks when it could be either, and stays with the one talked about", async () => {
    const files = filesOf("orders.csv", "penguins.csv");
    const asked = await ask("how many rows are there?", files);
    expect(asked.text).toContain("`orders.csv`, `penguins.csv`");
    expect(asked.calls).toHaveLength(1);
    const first = await ask("describe penguins.csv", files);
    expect((await ask("how many rows are there?", files, first.messages)).text).toContain("**68**");
  });
  it("says how to upload when there is none, and names what is there when another was meant", async () => {
    expect((await ask("average price by city", new Map())).text).toContain("Upload a CSV");
    expect((await ask("describe sales.csv", filesOf("orders.csv"))).text).toContain(
      "no file `sales.csv`",
    );
  });
});

describe("embedded/scripted on texts, reports and directives", () => {
  it.each([
    ["search for timeout", "**3** lines"],
    ['find the word "billing"', "**1** lines"],
    ["how many lines mention timeout?", "**3** lines"],
    ["how many words are there?", "**49** words"],
    ["what is in notes.txt?", "Release notes for the spring launch"],
  ])("%s", async (question, expected) => {
    expect((await ask(question, filesOf("notes.txt"))).text).toContain(expected);
  });

  it("runs exactly the directives it is given, one a step", async () => {
    const files = filesOf("penguins.csv");
    const session = await ask(
      '/tool write {"path":"a.txt","content":"x"}\n/tool run_code {"code":"return 41 + 1"}',
      files,
    );
    expect(session.calls.map(({ name }) => name)).toEqual(["write", "run_code"]);
    expect(session.text).toContain('"value":42');
  });

  it("reports a failed tool and stops", async () => {
    const session = await ask("how many rows?", new Map([["bad.csv", 'a,b\n"open,1\n']]));
    expect(session.text).toContain("The tool `run_code` failed");
    expect(session.calls).toHaveLength(2);
  });

  it.each(["hello", "thanks!", "what can you do?", "are you an AI?"])(
    "%s is answered without a tool",
    async (text) => {
      const session = await ask(text, new Map());
      expect(session.calls).toEqual([]);
      expect(session.text).toContain("not a language model");
    },
  );
});

describe("embedded/scripted as a model", () => {
  const request = toRequest([{ role: "user", content: [{ type: "text", text: "hello" }] }]);

  it("[model M2] is the same for the same request, labelled in its metadata, and streams", async () => {
    const [first, second] = [
      await collect(new ScriptedModel(), request),
      await collect(new ScriptedModel(), request),
    ];
    expect(first).toEqual(second);
    expect(first[0]).toEqual({
      type: "meta",
      meta: { fingerprint: "scripted-not-an-llm", model: "embedded/scripted" },
    });
    expect(first.filter((part) => part.type === "text").length).toBeGreaterThanOrEqual(4);
  });

  it("answers in the shape that was asked for", async () => {
    const session: Session = await ask("how many rows?", filesOf("penguins.csv"));
    const schema = {
      type: "object",
      properties: {
        answer: { type: "string" },
        count: { type: "integer" },
        sure: { type: "boolean" },
      },
    };
    const parts = await collect(
      new ScriptedModel(),
      toRequest(session.messages.slice(0, -1), { output: { name: "a", schema } }),
    );
    expect(
      JSON.parse(parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")),
    ).toMatchObject({ count: 68, sure: false });
  });

  it.each([
    "",
    "   ",
    "?",
    "how many",
    "average",
    "by by by",
    "top top",
    'where "',
    "/tool",
    "count how many in in",
    "🙂 how many 🙂",
    "x".repeat(5000),
  ])("ends on %j", async (text) => {
    const session = await ask(text, filesOf("penguins.csv"));
    expect(session.text).toContain(SCRIPTED_LABEL);
    expect(session.calls.length).toBeLessThanOrEqual(3);
  });
});
