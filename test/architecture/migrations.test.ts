/**
 * Migrations are append-only: objects in production have applied them. Each released file's digest is recorded in
 * `migrations/applied.json`; a new file is recorded with `npm run migrations:record`, a changed one is a defect.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "../support/source-tree.ts";

type Recorded = Readonly<Record<string, string>>;

const recorded = JSON.parse(readFileSync("migrations/applied.json", "utf8")) as Recorded;
const digest = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex");

describe("migrations", () => {
  const present = filesUnder("migrations", /\.sql$/);

  it("there are some", () => {
    expect(present.length).toBeGreaterThan(0);
  });

  it("no recorded file was changed or removed", () => {
    const now = Object.fromEntries(
      Object.keys(recorded).map((file) => [file, present.includes(file) ? digest(file) : "gone"]),
    );
    expect(now).toEqual(recorded);
  });

  it("each file is recorded (npm run migrations:record)", () => {
    expect(present.filter((file) => recorded[file] === undefined)).toEqual([]);
  });

  it("files of a database are numbered without gaps, so that a new one can only come last", () => {
    const folders = new Map<string, number[]>();
    for (const file of present) {
      const [, folder, number] = /^(.*)\/(\d{4})[^/]*\.sql$/.exec(file) ?? [];
      expect(folder, `${file} must start with four digits`).toBeDefined();
      folders.set(folder!, [...(folders.get(folder!) ?? []), Number(number)]);
    }
    for (const numbers of folders.values()) {
      const first = numbers[0]!;
      expect(numbers).toEqual(numbers.map((_, at) => first + at));
    }
  });
});
