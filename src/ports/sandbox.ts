/**
 * Sandbox: runs JavaScript that a model wrote, apart from the agent.
 *
 * Contract (suite: test/contracts/sandbox.ts):
 * S1 no network, no host globals, no bindings, no other tenant's files. S2 an endless loop ends as `exec_timeout`, a
 * memory bomb as `exec_memory`, an output flood is cut with `truncated: true` and the true byte count; the next call
 * works. S3 file writes go to the given session and are the caller's to commit or drop. S4 the code sees the globals
 * of docs/SPEC.md S: `readFile`, `writeFile`, `deleteFile`, `listFiles`, `parseCsv`, `console.log`, and may `return` a
 * JSON value from the top level.
 */
import type { Json } from "#shared/json.ts";
import type { WorkspaceSession } from "./workspace.ts";

export interface SandboxLimits {
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputBytes: number;
}
export interface SandboxRequest {
  readonly language: "javascript";
  readonly code: string;
  readonly files: WorkspaceSession;
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
}
export interface SandboxOutput {
  /** Head and tail of what was printed, on character boundaries, at most `maxOutputBytes`. */
  readonly stdout: string;
  readonly stdoutBytes: number;
  readonly truncated: boolean;
}
export type SandboxFailureCode =
  | "exec_timeout"
  | "exec_memory"
  | "exec_stack"
  | "exec_error"
  | "exec_output_invalid"
  | "exec_cancelled"
  | "sandbox_unavailable";
export type SandboxResult =
  | {
      readonly ok: true;
      readonly value: Json;
      readonly output: SandboxOutput;
      readonly wallMs: number;
    }
  | {
      readonly ok: false;
      readonly code: SandboxFailureCode;
      readonly message: string;
      readonly output: SandboxOutput;
      readonly wallMs: number;
    };

export interface Sandbox {
  /** e.g. `quickjs@1`, `dynamic-worker@1`; recorded with each execution. */
  readonly id: string;
  run(request: SandboxRequest): Promise<SandboxResult>;
}
