/** Other lines of this conversation: an answer that was made again, a message that was edited, what was before a clear. */
import type { ReactNode } from "react";
import type { Branch } from "#client/types.ts";
import { formatTime } from "../app/format.ts";

interface Props {
  readonly branches: readonly Branch[];
  readonly disabled: boolean;
  readonly onSelect: (branch: string) => void;
}

export function BranchPicker({ branches, disabled, onSelect }: Props): ReactNode {
  const active = branches.find((branch) => branch.active);
  return (
    <label className="branches">
      <span className="visually-hidden">Branch</span>
      <select
        className="quiet-select"
        value={active?.branch ?? ""}
        disabled={disabled}
        title={
          disabled
            ? "Branches can be switched between runs"
            : "Switch branches; files stay as they are"
        }
        onChange={(event) => onSelect(event.target.value)}
      >
        {branches.map((branch, index) => (
          <option key={branch.branch} value={branch.branch}>
            {index + 1}. {toLabel(branch)}, {formatTime(branch.createdAt)}
          </option>
        ))}
      </select>
    </label>
  );
}

function toLabel({ reason }: Branch): string {
  switch (reason) {
    case "regenerate":
      return "Another answer";
    case "edit":
      return "Edited message";
    case "clear":
      return "After clearing";
    default:
      return "Original";
  }
}
