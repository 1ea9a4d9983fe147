/** `run_code`: the code as code, then what it returned, printed and wrote. */
import type { DynamicToolUIPart, ToolUIPart } from "ai";
import type { ReactNode } from "react";
import { JsonView } from "./json-view.tsx";

interface CodeResult {
  readonly value?: unknown;
  readonly stdout?: unknown;
  readonly written?: unknown;
}

export function CodeCall({ part }: { readonly part: ToolUIPart | DynamicToolUIPart }): ReactNode {
  return (
    <>
      <p className="call-label">Code</p>
      <pre className="value code" tabIndex={0}>
        <code>{codeOf(part.input)}</code>
      </pre>
      {part.state === "output-available" && <Outcome output={part.output} />}
      {part.state === "output-error" && (
        <>
          <p className="call-label">Error</p>
          <JsonView value={part.errorText} />
        </>
      )}
    </>
  );
}

function Outcome({ output }: { readonly output: unknown }): ReactNode {
  // Cut results are text; all others are what the tool promises, member by member.
  if (typeof output !== "object" || output === null) return <JsonView value={output} />;
  const { value, stdout, written }: CodeResult = output;
  return (
    <>
      <p className="call-label">Returned</p>
      <JsonView value={value ?? null} />
      {typeof stdout === "string" && stdout !== "" && (
        <>
          <p className="call-label">Printed</p>
          <JsonView value={stdout} />
        </>
      )}
      {Array.isArray(written) && written.length > 0 && (
        <>
          <p className="call-label">Wrote</p>
          <p className="small">{written.join(", ")}</p>
        </>
      )}
    </>
  );
}

function codeOf(input: unknown): string {
  if (typeof input !== "object" || input === null || !("code" in input)) return "";
  return typeof input.code === "string" ? input.code : "";
}
