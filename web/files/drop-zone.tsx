/** Takes files that are dropped anywhere on its content. Everything it does can be done with the upload button too. */
import { useRef, useState, type DragEvent, type ReactNode } from "react";

interface Props {
  readonly onFiles: (files: readonly File[]) => void;
  readonly children: ReactNode;
}

export function DropZone({ onFiles, children }: Props): ReactNode {
  const [over, setOver] = useState(false);
  /** Entering a child leaves its parent, in this order. */
  const depth = useRef(0);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes("Files");
  function leave(by: number): void {
    depth.current = Math.max(0, depth.current - by);
    setOver(depth.current > 0);
  }
  return (
    <div
      className="drop-zone"
      onDragEnter={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        depth.current += 1;
        setOver(true);
      }}
      onDragOver={(event) => {
        if (hasFiles(event)) event.preventDefault();
      }}
      onDragLeave={(event) => {
        if (hasFiles(event)) leave(1);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        leave(depth.current);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
      {over && <div className="drop-hint">Drop to upload into this conversation</div>}
    </div>
  );
}
