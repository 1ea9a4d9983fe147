import { nodeQuickJsBinary } from "#test/support/quickjs-binary.ts";
import { createQuickJsSandbox } from "#adapters/sandbox/quickjs-sandbox.ts";
import { sandboxContract } from "./sandbox.ts";

sandboxContract("quickjs", () => createQuickJsSandbox(nodeQuickJsBinary));
