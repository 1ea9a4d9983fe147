/** A value exactly as it is: text as text, all else as JSON. */
import type { ReactNode } from "react";

export function JsonView({ value }: { readonly value: unknown }): ReactNode {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <pre className="value" tabIndex={0}>
      {text === "" ? " " : text}
    </pre>
  );
}

/** An object's members one by one, so that long texts are read as what they are and not as escaped JSON. */
export function Fields(props: {
  readonly value: unknown;
  /** Names are words for people, and no names of arguments. */
  readonly said?: boolean;
}): ReactNode {
  const { value, said = false } = props;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return <JsonView value={value} />;
  const entries = Object.entries(value);
  if (entries.length === 0) return <p className="muted small">No arguments.</p>;
  return (
    <dl className={said ? "fields fields-said" : "fields"}>
      {entries.map(([name, member]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof member === "string" ? member : JSON.stringify(member, null, 2)}</dd>
        </div>
      ))}
    </dl>
  );
}
