import type { ReactNode } from "react";
import type { Field } from "./answer-shape.ts";

interface Props {
  readonly id: string;
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function AnswerField(props: Props): ReactNode {
  const { id, field, value, onChange } = props;
  if (field.type === "choice") return <Choices {...props} />;
  if (field.type === "boolean") {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value === "true"}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        {field.label}
      </label>
    );
  }
  const isLong = field.type === "json";
  const Input = isLong ? "textarea" : "input";
  return (
    <div className="field">
      <label htmlFor={id}>
        {field.label}
        {!field.required && <span className="muted"> (optional)</span>}
      </label>
      <Input
        id={id}
        value={value}
        inputMode={field.type === "number" || field.type === "integer" ? "decimal" : undefined}
        aria-describedby={field.hint === null ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      />
      {field.hint !== null && (
        <span id={`${id}-hint`} className="small muted">
          {field.hint}
        </span>
      )}
    </div>
  );
}

function Choices({ id, field, value, onChange }: Props): ReactNode {
  return (
    <fieldset className="choices">
      <legend>{field.label}</legend>
      {field.choices.map((choice) => (
        <label key={choice} className="check">
          <input
            type="radio"
            name={id}
            value={choice}
            checked={value === choice}
            onChange={() => onChange(choice)}
          />
          {choice}
        </label>
      ))}
    </fieldset>
  );
}
