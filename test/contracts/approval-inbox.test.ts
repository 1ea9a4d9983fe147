import { describe } from "vitest";
import { D1ApprovalInbox } from "#adapters/approval-inbox/d1-approval-inbox.ts";
import { MemoryApprovalInbox } from "#test/support/memory-approval-inbox.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { approvalInboxContract } from "./approval-inbox.ts";

describe("D1ApprovalInbox", () =>
  approvalInboxContract(() => new D1ApprovalInbox(createNodeD1().d1)));
describe("MemoryApprovalInbox", () => approvalInboxContract(() => new MemoryApprovalInbox()));
