/** What `embedded/scripted` answers about tables, against answers that this file works out by itself. */
import { describe, expect, it } from "vitest";
import { SCRIPTED_LABEL } from "#adapters/model/embedded/scripted-model.ts";
import { ask, filesOf, fixture } from "#test/support/scripted-session.ts";

type Row = Readonly<Record<string, string>>;

/** A parser of its own, so that expected answers do not come from the code under test. */
function rowsOf(name: string, separator: string): readonly Row[] {
  const split = (line: string): string[] =>
    [...line.matchAll(new RegExp(`(?:^|${separator})(?:"([^"]*)"|([^${separator}]*))`, "g"))].map(
      ([, quoted, plain]) => quoted ?? plain ?? "",
    );
  const [header = "", ...lines] = fixture(name).trim().split(/\r?\n/);
  const names = split(header);
  return lines.map((line) =>
    Object.fromEntries(split(line).map((cell, index) => [names[index] ?? "", cell])),
  );
}
const penguins = rowsOf("penguins.csv", ",");
const orders = rowsOf("orders.csv", ",");
const employees = rowsOf("employees.csv", ";");

const numbers = (rows: readonly Row[], column: string): number[] =>
  rows.map((row) => Number(row[column] || Number.NaN)).filter((value) => !Number.isNaN(value));
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return (
    ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) +
      (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) /
    2
  );
};
const show = (value: number): string =>
  new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 }).format(value);
const where = (rows: readonly Row[], values: Row): readonly Row[] =>
  rows.filter((row) => Object.entries(values).every(([key, value]) => row[key] === value));
const above = (rows: readonly Row[], column: string, limit: number): readonly Row[] =>
  rows.filter((row) => row[column] !== "NA" && Number(row[column]) > limit);
const groups = (
  rows: readonly Row[],
  column: string,
  of: (rows: readonly Row[]) => number,
): readonly string[] =>
  [...new Set(rows.map((row) => row[column] ?? ""))].map(
    (key) => `| ${key} | ${show(of(where(rows, { [column]: key })))} |`,
  );

/** A bold number is the answer itself. */
const bold = (value: number): readonly string[] => [`**${show(value)}`];
/** [question, texts that the answer must hold]. */
const PENGUINS: readonly (readonly [string, readonly string[]])[] = [
  ["How many rows are there?", bold(68)],
  ["how many penguins are in penguins.csv?", bold(68)],
  ["How many Adelie penguins are there?", bold(where(penguins, { species: "Adelie" }).length)],
  [
    "how many Adelies are on Dream or Biscoe",
    bold(
      where(penguins, { species: "Adelie" }).filter((row) => row["island"] !== "Torgersen").length,
    ),
  ],
  ["how many penguins live on Biscoe?", bold(where(penguins, { island: "Biscoe" }).length)],
  [
    "how many penguins are not Adelie?",
    bold(penguins.filter((row) => row["species"] !== "Adelie").length),
  ],
  ["count penguins with body mass over 5000", bold(above(penguins, "body_mass_g", 5000).length)],
  [
    "how many female Adelie penguins have a bill length greater than 38?",
    bold(above(where(penguins, { species: "Adelie", sex: "female" }), "bill_length_mm", 38).length),
  ],
  [
    "how many penguins have a flipper length between 190 and 200?",
    bold(
      above(penguins, "flipper_length_mm", 189.99).length -
        above(penguins, "flipper_length_mm", 200).length,
    ),
  ],
  ["how many penguins weigh more than 5000?", bold(above(penguins, "body_mass_g", 5000).length)],
  ["how many rows have sex missing?", bold(where(penguins, { sex: "NA" }).length)],
  ["how many penguins were observed in 2007?", bold(where(penguins, { year: "2007" }).length)],
  [
    "What is the mean flipper length of Gentoo penguins?",
    bold(mean(numbers(where(penguins, { species: "Gentoo" }), "flipper_length_mm"))),
  ],
  [
    "average body_mass_g where species = Gentoo and sex = female",
    bold(mean(numbers(where(penguins, { species: "Gentoo", sex: "female" }), "body_mass_g"))),
  ],
  [
    "average body mass of penguins not from Biscoe",
    bold(
      mean(
        numbers(
          penguins.filter((row) => row["island"] !== "Biscoe"),
          "body_mass_g",
        ),
      ),
    ),
  ],
  ["median flipper_length_mm", bold(median(numbers(penguins, "flipper_length_mm")))],
  [
    "min and max of bill depth",
    [
      ...bold(Math.min(...numbers(penguins, "bill_depth_mm"))),
      ...bold(Math.max(...numbers(penguins, "bill_depth_mm"))),
    ],
  ],
  ["total body mass", bold(sum(numbers(penguins, "body_mass_g")))],
  [
    "average body mass by species",
    groups(penguins, "species", (rows) => mean(numbers(rows, "body_mass_g"))),
  ],
  [
    "max bill length per species",
    groups(penguins, "species", (rows) => Math.max(...numbers(rows, "bill_length_mm"))),
  ],
  ["how many penguins per island?", groups(penguins, "island", (rows) => rows.length)],
  ["distribution of species", groups(penguins, "species", (rows) => rows.length)],
  [
    "compare the body mass of Adelie and Gentoo",
    groups(
      penguins.filter((row) => row["species"] !== "Chinstrap"),
      "species",
      (rows) => mean(numbers(rows, "body_mass_g")),
    ),
  ],
  [
    "what's the average body mass per species and sex?",
    [
      `| Gentoo | female | ${show(mean(numbers(where(penguins, { species: "Gentoo", sex: "female" }), "body_mass_g")))} |`,
    ],
  ],
  ["which species has the highest average body mass?", ["**Gentoo** has the highest"]],
  [
    "which island has the most penguins?",
    ["**Biscoe** has the highest", bold(where(penguins, { island: "Biscoe" }).length)[0] ?? ""],
  ],
  ["how many different species are there?", bold(3)],
  ["what are the islands?", [...bold(3), "| Torgersen |", "| Dream |"]],
  [
    "what percentage of penguins are male?",
    bold((100 * where(penguins, { sex: "male" }).length) / 68),
  ],
  ["which penguin is the heaviest?", [`| ${Math.max(...numbers(penguins, "body_mass_g"))} |`]],
  [
    "show me the rows where island is Torgersen and year = 2008",
    [`of ${where(penguins, { island: "Torgersen", year: "2008" }).length} rows`],
  ],
  ["describe the file", [...bold(68), "| body_mass_g | number | 3 |"]],
];
const total = (rows: readonly Row[]): number => sum(numbers(rows, "Total"));
const ORDERS: readonly (readonly [string, readonly string[]])[] = [
  ["total revenue by region", groups(orders, "Region", total)],
  ["sum of total per product", groups(orders, "Product", total)],
  ["what is the total sales?", bold(total(orders))],
  [
    "average quantity for Desk",
    bold(mean(numbers(where(orders, { Product: "Desk" }), "Quantity"))),
  ],
  [
    "how many units of Lamp were sold?",
    bold(sum(numbers(where(orders, { Product: "Lamp" }), "Quantity"))),
  ],
  [
    "how many orders were placed in 2024?",
    bold(orders.filter((row) => row["Order Date"]?.startsWith("2024")).length),
  ],
  [
    "how many orders after 2024-06-01?",
    bold(orders.filter((row) => (row["Order Date"] ?? "") > "2024-06-01").length),
  ],
  ["how many orders have a total over 1000?", bold(above(orders, "Total", 1000).length)],
  ["orders from Dune, Inc.", bold(where(orders, { Customer: "Dune, Inc." }).length)],
  ["highest total", bold(Math.max(...numbers(orders, "Total")))],
  [
    "median total of orders by Evergreen",
    bold(median(numbers(where(orders, { Customer: "Evergreen" }), "Total"))),
  ],
  ["unique products", bold(5)],
  ["how many customers are there?", bold(5)],
  [
    "total sales by region in 2023, highest first",
    groups(
      orders.filter((row) => row["Order Date"]?.startsWith("2023")),
      "Region",
      total,
    ),
  ],
  [
    "monthly revenue",
    [
      `| 2023-01 | ${show(total(orders.filter((row) => row["Order Date"]?.startsWith("2023-01"))))} |`,
    ],
  ],
  [
    "list the largest 2 orders by total",
    ["2 of 80 rows", `| ${Math.max(...numbers(orders, "Total"))} |`],
  ],
];
const EMPLOYEES: readonly (readonly [string, readonly string[]])[] = [
  [
    "average salary by department",
    groups(employees, "department", (rows) => mean(numbers(rows, "salary"))),
  ],
  ["how many employees work remotely?", bold(where(employees, { remote: "yes" }).length)],
  ["how many people are not remote?", bold(where(employees, { remote: "no" }).length)],
  ["how many employees are older than 40?", bold(above(employees, "age", 40).length)],
  ["how many people live in New York", bold(where(employees, { city: "New York" }).length)],
  ["how many employees have no manager?", bold(where(employees, { manager: "" }).length)],
  ["how many employees earn at least 60000?", bold(above(employees, "salary", 59_999).length)],
  [
    "how many employees in human resources or support?",
    bold(employees.filter((row) => /Human|Support/.test(row["department"] ?? "")).length),
  ],
  [
    "average salary of remote employees",
    bold(mean(numbers(where(employees, { remote: "yes" }), "salary"))),
  ],
  [
    "employees whose name contains Berg",
    bold(employees.filter((row) => row["employee_name"]?.includes("Berg")).length),
  ],
  ["which city has the most remote employees?", ["highest number of rows"]],
  ["top 3 salaries", ["3 of 26 rows", `| ${Math.max(...numbers(employees, "salary"))} |`]],
];

describe("embedded/scripted answers from the file", () => {
  it.each([
    ...PENGUINS.map(([question, expected]) => ["penguins.csv", question, expected] as const),
    ...ORDERS.map(([question, expected]) => ["orders.csv", question, expected] as const),
    ...EMPLOYEES.map(([question, expected]) => ["employees.csv", question, expected] as const),
  ])("%s: %s", async (file, question, expected) => {
    const session = await ask(question, filesOf(file));
    for (const text of expected) expect(session.text).toContain(text);
    expect(session.text.endsWith(SCRIPTED_LABEL)).toBe(true);
    // The listing, one look, at most one computation.
    expect(session.calls.map(({ name }) => name)).toEqual(
      ["find", "run_code", "run_code"].slice(0, session.calls.length),
    );
  });

  it("writes a report where it was asked to", async () => {
    const files = filesOf("penguins.csv");
    const session = await ask("write a report on average body mass by species to mass.md", files);
    expect(session.calls.map(({ name }) => name)).toEqual([
      "find",
      "run_code",
      "run_code",
      "write",
    ]);
    expect(session.text).toContain("`mass.md`");
    for (const line of groups(penguins, "species", (rows) => mean(numbers(rows, "body_mass_g"))))
      expect(files.get("mass.md")).toContain(line);
  });
});
