import { describe } from "vitest";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { webhookStoreContract } from "./webhook-store.ts";

describe("D1WebhookStore", () => webhookStoreContract(() => new D1WebhookStore(createNodeD1().d1)));
