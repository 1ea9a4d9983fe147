/** The workspace of this conversation: what was uploaded and what the agent wrote. */
import { useRef, useState, type ReactNode } from "react";
import { toMessage } from "../api/to-message.ts";
import type { WorkspaceFile } from "#client/types.ts";
import { formatAgo, formatBytes } from "../app/format.ts";
import { IconButton } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { saveAs } from "../app/save-as.ts";
import { SidePanel } from "../app/side-panel.tsx";

interface Props {
  readonly files: readonly WorkspaceFile[] | null;
  readonly onUpload: (files: readonly File[]) => void;
  readonly onDownload: (path: string) => Promise<Blob>;
  readonly onDelete: (path: string) => Promise<boolean>;
  readonly onClose: () => void;
}

export function FilesPanel(props: Props): ReactNode {
  const { files, onUpload, onDownload, onDelete, onClose } = props;
  const [error, setError] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  async function download(path: string): Promise<void> {
    try {
      setError(null);
      saveAs(await onDownload(path), path.split("/").at(-1) ?? path);
    } catch (reason) {
      setError(toMessage(reason));
    }
  }
  return (
    <SidePanel
      title="Files"
      closeLabel="Close the files"
      onClose={onClose}
      actions={
        <>
          <button
            type="button"
            className="button button-small"
            onClick={() => input.current?.click()}
          >
            Upload
          </button>
          <input
            ref={input}
            type="file"
            multiple
            hidden
            aria-label="Files to upload here"
            onChange={(event) => {
              onUpload([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
        </>
      }
    >
      {error !== null && <Notice kind="error" text={error} onDismiss={() => setError(null)} />}
      {files?.length === 0 && (
        <p className="empty">
          No files yet. Drop some anywhere on this page, or use Upload. Files that the agent writes
          appear here too.
        </p>
      )}
      <ul className="file-list">
        {files?.map((file) => (
          <FileRow
            key={file.path}
            file={file}
            onDownload={() => void download(file.path)}
            onDelete={() => void onDelete(file.path)}
          />
        ))}
      </ul>
    </SidePanel>
  );
}

function FileRow(props: {
  readonly file: WorkspaceFile;
  readonly onDownload: () => void;
  readonly onDelete: () => void;
}): ReactNode {
  const { file, onDownload, onDelete } = props;
  const [asking, setAsking] = useState(false);
  return (
    <li className="file-row">
      <div className="grow">
        <div className="file-path">{file.path}</div>
        <div className="muted small">
          {formatBytes(file.bytes)} · {formatAgo(file.updatedAt)}
        </div>
      </div>
      {asking ? (
        <>
          <button
            type="button"
            className="button button-small button-danger"
            onClick={onDelete}
            autoFocus
          >
            Delete
          </button>
          <button type="button" className="button button-small" onClick={() => setAsking(false)}>
            Keep
          </button>
        </>
      ) : (
        <>
          <IconButton icon="download" label={`Download ${file.path}`} onClick={onDownload} />
          <IconButton icon="trash" label={`Delete ${file.path}`} onClick={() => setAsking(true)} />
        </>
      )}
    </li>
  );
}
