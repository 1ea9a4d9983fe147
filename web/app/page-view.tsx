/** A page that is no conversation: title, what belongs to it, and a column of content. */
import type { ReactNode } from "react";
import { IconButton } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly onOpenSidebar: () => void;
  readonly children: ReactNode;
}

export function PageView({ title, actions, onOpenSidebar, children }: Props): ReactNode {
  return (
    <main className="conversation">
      <header className="bar">
        <IconButton
          icon="menu"
          label="Conversations"
          className="only-narrow"
          onClick={onOpenSidebar}
        />
        <h1 className="bar-title">{title}</h1>
        {actions}
      </header>
      <div id="page" className="start" role="region" aria-label={`${title}: content`} tabIndex={0}>
        <div className="start-inner page-inner">{children}</div>
      </div>
    </main>
  );
}
