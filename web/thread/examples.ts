/** What a newcomer can ask this agent with one click, made from the tools it has and the model that answers. */
import type { Agent } from "#client/types.ts";

export interface Example {
  readonly label: string;
  readonly text: string;
  /** Uploaded before the message is sent. */
  readonly file?: { readonly path: string; readonly content: string };
}

export function isEmbedded({ model }: Agent): boolean {
  return model.startsWith("embedded/");
}

const SALES = `month,city,product,units,revenue
2026-07,Hamburg,Espresso,420,1176.00
2026-07,Hamburg,Filter,310,930.00
2026-07,Lisbon,Espresso,510,1020.00
2026-07,Lisbon,Filter,120,300.00
2026-08,Hamburg,Espresso,465,1302.00
2026-08,Hamburg,Filter,295,885.00
2026-08,Lisbon,Espresso,498,996.00
2026-08,Lisbon,Filter,141,352.50
2026-09,Hamburg,Espresso,402,1125.60
2026-09,Hamburg,Filter,333,999.00
2026-09,Lisbon,Espresso,544,1088.00
2026-09,Lisbon,Filter,160,400.00
`;
const SAMPLE = { path: "sales.csv", content: SALES };

const TABLE: readonly Example[] = [
  {
    label: "Total revenue by city",
    text: "What is the total revenue by city in sales.csv?",
    file: SAMPLE,
  },
  {
    label: "How many rows have units over 400?",
    text: "How many rows of sales.csv have units over 400?",
    file: SAMPLE,
  },
  {
    label: "Average revenue per product",
    text: "What is the average revenue by product in sales.csv?",
    file: SAMPLE,
  },
];
const MAIL = "Email ada@example.com: Hello Ada, does Friday at ten still suit you?";
const QUESTION = {
  question: "Which day suits you for the meeting?",
  schema: { type: "string", enum: ["Thursday", "Friday"] },
};
const NOTE = { path: "notes/launch.md", content: "# Launch\n\n- Date: 12 March\n- Owner: Ada\n" };

const call = (name: string, args: object): string => `/tool ${name} ${JSON.stringify(args)}`;

/** The embedded model follows directives, where a language model is simply asked. */
export function examplesFor(agent: Agent): readonly Example[] {
  const has = (tool: string): boolean => agent.tools.some(({ name }) => name === tool);
  const scripted = isEmbedded(agent);
  if (has("run_code")) return TABLE;
  if (has("send_email")) {
    return [
      {
        label: "Mail Ada about Friday. You approve it first",
        text: MAIL,
      },
      {
        label: "Let it ask you which day suits",
        text: scripted
          ? call("ask_human", QUESTION)
          : "Arrange a meeting with ada@example.com; ask me which day suits.",
      },
    ];
  }
  if (has("write")) {
    return [
      {
        label: "Write a note about a launch",
        text: scripted
          ? call("write", NOTE)
          : "Note that the launch is on 12 March and Ada owns it.",
      },
      {
        label: "List the files there are",
        text: scripted ? call("ls", {}) : "Which files are there?",
      },
    ];
  }
  return [{ label: "What can you do?", text: "What can you do?" }];
}
