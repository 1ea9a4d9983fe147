/** Documents of the REST API, from the schemas that the server validates with. Types only: no schema gets into the page. */
import type { z } from "zod";
import type {
  AgentDoc,
  BranchDoc,
  FileDoc,
  ProblemDoc,
  RunDoc,
  ThreadDoc,
  ThreadListItemDoc,
} from "#protocols/rest/wire.ts";
import type { PrincipalDoc } from "#protocols/rest/wire-credentials.ts";
import type { ApprovalDoc, InboxItemDoc } from "#protocols/rest/wire-approvals.ts";
import type { ExplanationDoc, VerificationDoc } from "#protocols/rest/wire-audit.ts";
import type { SpendItemDoc } from "#protocols/rest/wire-spend.ts";

export type Agent = z.output<typeof AgentDoc>;
export type Approval = z.output<typeof ApprovalDoc>;
export type InboxItem = z.output<typeof InboxItemDoc>;
export type Explanation = z.output<typeof ExplanationDoc>;
export type ExplainedStep = Explanation["steps"][number];
export type Verification = z.output<typeof VerificationDoc>;
export type SpendItem = z.output<typeof SpendItemDoc>;
export type SpendGroup = "day" | "agent" | "model" | "tool" | "user";
export type Me = z.output<typeof PrincipalDoc>;
export type Branch = z.output<typeof BranchDoc>;
export type WorkspaceFile = z.output<typeof FileDoc>;
export type Problem = z.output<typeof ProblemDoc>;
export type Run = z.output<typeof RunDoc>;
export type Thread = z.output<typeof ThreadDoc>;
export type ThreadItem = z.output<typeof ThreadListItemDoc>;

export interface Place {
  readonly agent: string;
  readonly thread: string;
}
export type Decision =
  | { readonly decision: "approve"; readonly comment?: string }
  | { readonly decision: "deny"; readonly comment?: string }
  | { readonly decision: "answer"; readonly answer: unknown };
export type Delivery = "queue" | "steer" | "interrupt";
