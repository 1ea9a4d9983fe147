import type { ReactNode } from "react";
import { Notice } from "../app/notice.tsx";
import type { ConnectionState } from "./use-chat.ts";

interface Props {
  readonly state: ConnectionState;
  readonly refusal: string | null;
}

export function ConnectionNotice({ state, refusal }: Props): ReactNode {
  if (state === "refused") {
    return <Notice kind="error" text={refusal ?? "The server refuses the connection."} />;
  }
  if (state !== "lost") return null;
  return (
    <Notice
      kind="warn"
      text="The connection is lost; trying again. What runs goes on meanwhile, and nothing is lost."
    />
  );
}
