import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { utf8 } from "#shared/json.ts";
import {
  checkSignature,
  isUsableSecret,
  newSecret,
  readEventId,
  signStandard,
  type HookScheme,
} from "#shared/webhook-signatures.ts";

const NOW = 1_700_000_000_000;
const SECONDS = String(NOW / 1_000);
const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString("base64")}`;
const BODY = '{"type":"ping"}';

const request = (headers: Record<string, string>, body = BODY) => ({
  header: (name: string) => headers[name] ?? null,
  body: utf8(body),
});
const hex = (secret: string | Buffer, text: string): string =>
  createHmac("sha256", secret).update(text).digest("hex");
const check = (
  scheme: HookScheme,
  headers: Record<string, string>,
  { secrets = [SECRET], now = NOW, body = BODY } = {},
) => checkSignature(scheme, request(headers, body), { secrets, now });

it("[P130] the published example of GitHub holds", async () => {
  const github = {
    "x-hub-signature-256":
      "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  };
  const secrets = ["It's a Secret to Everybody"];
  expect(await check("github", github, { secrets, body: "Hello, World!" })).toMatchObject({
    ok: true,
  });
});

it("[P130] Standard Webhooks, Stripe and Slack as another implementation signs them", async () => {
  const standard = {
    "webhook-id": "msg_1",
    "webhook-timestamp": SECONDS,
    "webhook-signature": `v1a,xx v1,${createHmac("sha256", KEY).update(`msg_1.${SECONDS}.${BODY}`).digest("base64")}`,
  };
  expect(await check("standard", standard)).toMatchObject({ ok: true });
  const stripe = {
    "stripe-signature": `t=${SECONDS},v1=00,v1=${hex(SECRET, `${SECONDS}.${BODY}`)}`,
  };
  expect(await check("stripe", stripe)).toMatchObject({ ok: true });
  const slack = {
    "x-slack-request-timestamp": SECONDS,
    "x-slack-signature": `v0=${hex(SECRET, `v0:${SECONDS}:${BODY}`)}`,
  };
  expect(await check("slack", slack)).toMatchObject({ ok: true });
  expect(await signStandard({ id: "msg_1", at: NOW, body: BODY }, [SECRET])).toEqual({
    ...standard,
    "webhook-signature": standard["webhook-signature"].split(" ")[1],
  });
});

it("[P130] another body, id, time or secret, and a time that is away, are refused", async () => {
  const signed = await signStandard({ id: "msg_1", at: NOW, body: BODY }, [SECRET]);
  const invalid = { ok: false, error: "signature_invalid" };
  expect(await check("standard", signed, { body: `${BODY} ` })).toEqual(invalid);
  expect(await check("standard", { ...signed, "webhook-id": "msg_2" })).toEqual(invalid);
  const later = { ...signed, "webhook-timestamp": String(NOW / 1_000 + 1) };
  expect(await check("standard", later)).toEqual(invalid);
  const other = newSecret(new Uint8Array(32));
  expect(await check("standard", signed, { secrets: [other] })).toEqual(invalid);
  expect(await check("standard", signed, { secrets: [other, SECRET] })).toMatchObject({ ok: true });
  const away = { ok: false, error: "timestamp_invalid" };
  expect(await check("standard", signed, { now: NOW + 301_000 })).toEqual(away);
  expect(await check("standard", signed, { now: NOW - 301_000 })).toEqual(away);
  expect(await check("standard", { ...signed, "webhook-timestamp": "soon" })).toEqual(away);
  for (const scheme of ["standard", "github", "slack", "stripe"] as const)
    expect(await check(scheme, {})).toEqual({ ok: false, error: "signature_missing" });
});

it("[P130] no secret is too short to be one, and an id is the sender's own", () => {
  expect(isUsableSecret("standard", "whsec_c2hvcnQ=")).toBe(false);
  expect(isUsableSecret("standard", "not base64 but long enough")).toBe(false);
  expect(isUsableSecret("standard", SECRET)).toBe(true);
  expect(isUsableSecret("github", "short")).toBe(false);
  const headers = request({ "webhook-id": "a", "x-github-delivery": "b" });
  expect(readEventId("standard", headers, {})).toBe("a");
  expect(readEventId("github", headers, {})).toBe("b");
  expect(readEventId("slack", headers, { event_id: "c" })).toBe("c");
  expect(readEventId("stripe", headers, { id: "d" })).toBe("d");
  expect(readEventId("stripe", headers, { id: 4 })).toBeNull();
});
