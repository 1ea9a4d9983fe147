/** What lies beside the conversation, or over it where there is no room. Takes the focus, and gives it back when it closes. */
import { useEffect, useRef, type ReactNode } from "react";
import { IconButton } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly closeLabel: string;
  readonly wide?: boolean;
  readonly actions?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function SidePanel(props: Props): ReactNode {
  const { title, closeLabel, wide = false, actions, onClose, children } = props;
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    panel.current?.focus();
    return () => {
      // Where the focus has gone elsewhere meanwhile it stays.
      if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <aside
      ref={panel}
      className={wide ? "side side-wide" : "side"}
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header className="bar">
        <h2 className="bar-title">{title}</h2>
        {actions}
        <IconButton icon="close" label={closeLabel} onClick={onClose} />
      </header>
      {children}
    </aside>
  );
}
