/** The agent's plan, as it keeps it: how far it is in a line, and each item when opened. */
import type { ReactNode } from "react";
import type { Thread } from "#client/types.ts";
import { Icon } from "../app/icon.tsx";

interface Item {
  readonly text: string;
  readonly status: "pending" | "active" | "done" | "dropped";
}

const WORDS = { pending: "to do", active: "at work", done: "done", dropped: "dropped" } as const;

export function Plan({ plan }: { readonly plan: Thread["plan"] }): ReactNode {
  const items = toItems(plan);
  if (items.length === 0) return null;
  const kept = items.filter(({ status }) => status !== "dropped");
  const done = kept.filter(({ status }) => status === "done").length;
  const now =
    items.find(({ status }) => status === "active") ??
    kept.find(({ status }) => status === "pending");
  return (
    <details className="plan">
      <summary>
        <Icon name="chevron" />
        <strong>Plan</strong>
        <span className="plan-count">
          {done} of {kept.length} done
        </span>
        {now !== undefined && <span className="plan-now">{now.text}</span>}
      </summary>
      <ol>
        {items.map(({ text, status }, index) => (
          // Items have no ids; a new plan replaces the whole list.
          <li key={index} className={`plan-${status}`}>
            <span className="grow">{text}</span>{" "}
            <span className="small muted">{WORDS[status]}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The document says any JSON; the tool that writes it says a list of these. */
function toItems(plan: Thread["plan"]): readonly Item[] {
  return Array.isArray(plan) ? plan.flatMap((item) => (isItem(item) ? [item] : [])) : [];
}

function isItem(value: unknown): value is Item {
  if (typeof value !== "object" || value === null) return false;
  if (!("text" in value) || !("status" in value)) return false;
  return (
    typeof value.text === "string" &&
    typeof value.status === "string" &&
    Object.hasOwn(WORDS, value.status)
  );
}
