/**
 * Where messages are written. Enter sends, Shift+Enter breaks the line, Escape stops, Arrow up in the empty field edits
 * the last message. While a run works, a message says how it is to be delivered.
 */
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Delivery } from "#client/types.ts";
import { Icon, IconButton } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";

interface Props {
  readonly placeholder: string;
  /** Said before how a message is sent. */
  readonly hint?: string;
  readonly state: "idle" | "sending" | "working" | "waiting" | "closed";
  readonly error: string | null;
  readonly onSend: (text: string, delivery: Delivery) => void;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onStop?: () => void;
  readonly onEditLast?: () => void;
  readonly onDismissError?: () => void;
}

const DELIVERIES: readonly (readonly [Delivery, string])[] = [
  ["queue", "after this run"],
  ["steer", "at its next step"],
  ["interrupt", "now, ending this run"],
];

export function Composer(props: Props): ReactNode {
  const { placeholder, hint, state, error, onSend, onFiles, onStop, onEditLast, onDismissError } =
    props;
  const [text, setText] = useState("");
  const [delivery, setDelivery] = useState<Delivery>("queue");
  const field = useGrowingField(text);
  const live = state === "working" || state === "waiting";
  const canSend = text.trim() !== "" && state !== "sending" && state !== "closed";

  function send(): void {
    if (!canSend) return;
    onSend(text.trim(), live ? delivery : "queue");
    setText("");
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && live) onStop?.();
    else if (event.key === "ArrowUp" && text === "" && !live && onEditLast !== undefined) {
      event.preventDefault();
      onEditLast();
    }
  }
  return (
    <div className="composer">
      {error !== null && <Notice kind="error" text={error} onDismiss={onDismissError} />}
      <div className="composer-box">
        <textarea
          id="composer"
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder={placeholder}
          value={text}
          disabled={state === "closed"}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="composer-row">
          <FileButton onFiles={onFiles} />
          {live && text.trim() !== "" && <DeliveryPicker value={delivery} onChange={setDelivery} />}
          <span className="grow" />
          <span className="composer-hint">{hint} Enter to send, Shift+Enter for a new line</span>
          {live && (
            <button type="button" className="button button-stop" onClick={onStop}>
              <Icon name="stop" /> Stop
            </button>
          )}
          <IconButton
            icon="send"
            label="Send"
            className="button-send"
            disabled={!canSend}
            onClick={send}
          />
        </div>
      </div>
    </div>
  );
}

function DeliveryPicker(props: {
  readonly value: Delivery;
  readonly onChange: (delivery: Delivery) => void;
}): ReactNode {
  return (
    <label className="delivery">
      Deliver{" "}
      <select
        value={props.value}
        onChange={(event) => {
          const chosen = DELIVERIES.find(([name]) => name === event.target.value);
          if (chosen !== undefined) props.onChange(chosen[0]);
        }}
      >
        {DELIVERIES.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function FileButton({ onFiles }: Pick<Props, "onFiles">): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          if (files.length > 0) onFiles(files);
          event.target.value = "";
        }}
      />
      <IconButton icon="attach" label="Upload files" onClick={() => input.current?.click()} />
    </>
  );
}

/** As high as its text, up to what the style sheet allows. */
function useGrowingField(text: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
  return field;
}
