import type { ReactNode } from "react";
import { Icon, IconButton } from "./icon.tsx";

interface Props {
  readonly kind: "error" | "warn" | "info";
  readonly text: string;
  readonly onDismiss?: (() => void) | undefined;
  readonly children?: ReactNode;
}

/** One sentence on what is wrong, and what can be done about it. */
export function Notice({ kind, text, onDismiss, children }: Props): ReactNode {
  return (
    <div className={`notice notice-${kind}`} role={kind === "error" ? "alert" : "status"}>
      <Icon name="alert" />
      <span className="grow">{text}</span>
      {children}
      {onDismiss !== undefined && <IconButton icon="close" label="Dismiss" onClick={onDismiss} />}
    </div>
  );
}
