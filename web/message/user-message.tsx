import { useState, type KeyboardEvent, type ReactNode } from "react";
import { IconButton } from "../app/icon.tsx";

interface Props {
  readonly text: string;
  readonly editing: boolean;
  /** Messages are edited between runs only. */
  readonly canEdit: boolean;
  readonly onEdit: () => void;
  readonly onCancel: () => void;
  readonly onSave: (text: string) => void;
}

export function UserMessage({
  text,
  editing,
  canEdit,
  onEdit,
  onCancel,
  onSave,
}: Props): ReactNode {
  if (editing) return <Editor text={text} onCancel={onCancel} onSave={onSave} />;
  return (
    <article className="said" aria-label="You">
      {/* Nobody can send nothing: what is empty was erased. */}
      <div className="said-text">{text === "" ? <em className="muted">Erased</em> : text}</div>
      {canEdit && text !== "" && (
        <IconButton icon="edit" label="Edit this message" className="on-hover" onClick={onEdit} />
      )}
    </article>
  );
}

function Editor({
  text,
  onCancel,
  onSave,
}: Pick<Props, "text" | "onCancel" | "onSave">): ReactNode {
  const [draft, setDraft] = useState(text);
  const canSave = draft.trim() !== "" && draft !== text;
  function leave(): void {
    onCancel();
    document.getElementById("composer")?.focus();
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && !event.shiftKey && canSave) {
      event.preventDefault();
      onSave(draft.trim());
    }
  }
  return (
    <div className="editor">
      <textarea
        aria-label="Edited message"
        value={draft}
        rows={Math.min(10, draft.split("\n").length + 1)}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        onFocus={(event) => event.target.select()}
        autoFocus
      />
      <p className="muted small">
        The answer it had is kept, as another branch. Files stay as they are.
      </p>
      <div className="row">
        <button
          type="button"
          className="button button-primary button-small"
          disabled={!canSave}
          onClick={() => onSave(draft.trim())}
        >
          Send again
        </button>
        <button type="button" className="button button-small" onClick={leave}>
          Cancel
        </button>
      </div>
    </div>
  );
}
