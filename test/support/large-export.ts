/** An export of any size, with headers and payloads of the sizes that threads have, and a signed head every hundred events. */
import { buildHeader, toHeaderText } from "#adapters/log/event-header.ts";
import { signAnchor } from "#audit/anchor.ts";
import {
  digestInput,
  endMessage,
  FIRST_DIGEST,
  toLine,
  type ExportLine,
} from "#audit/export-format.ts";
import { toJwk } from "#audit/key-set.ts";
import type { PublicKey } from "#ports/signing.ts";
import { utf8 } from "#shared/json.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { makeKey } from "./audit-kit.ts";

const OWNER = { tenant: "acme", agent: "clerk", thread: "t1" };
const GENESIS = { seq: 0, hash: "0".repeat(64) };
const EVERY = 100;

export async function largeExport(events: number): Promise<{
  readonly keys: readonly PublicKey[];
  pieces(): AsyncIterable<Uint8Array>;
}> {
  const hasher = new NodeHasher();
  const { key, signer } = makeKey(0);
  const lines: ExportLine[] = [];
  let prev = GENESIS.hash;
  for (let seq = 1; seq <= events; seq += 1) {
    const payload = utf8(
      `{"result":{"status":"ok","code":null,"bytes":40,"handle":null,"output":"row ${seq} of the table"}}`,
    );
    const salt = utf8(String(seq).padStart(16, "0"));
    const header = buildHeader(
      {
        logId: "log_large",
        seq,
        id: `evt_${seq}`,
        type: "tool.finished",
        version: 1,
        at: seq,
        epoch: 1,
        prev,
        payload: {
          bytes: payload.byteLength,
          digest: hasher.sha256(salt, payload),
          encoding: "json",
          keyId: null,
          ref: null,
        },
      },
      {
        run: "run_1",
        step: seq,
        call: `call_${seq}`,
        attempt: 1,
        cause: `evt_${seq - 1}`,
        costMicros: 12,
        costKind: "normal",
      },
      OWNER,
    );
    const text = toHeaderText(header);
    prev = hasher.sha256(utf8(text));
    lines.push({ type: "event", event: { seq, header: text, hash: prev, salt, payload } });
    if (seq % EVERY !== 0) continue;
    const place = { ...OWNER, logId: "log_large", seq, hash: prev, at: 1_000 };
    lines.push({ type: "anchor", anchor: await signAnchor(place, signer) });
  }
  const head = { seq: events, hash: prev };
  const whole: readonly ExportLine[] = [
    { type: "head", at: 1_000, scope: OWNER },
    { type: "key", jwk: toJwk(key) },
    { type: "log", log: { ...OWNER, logId: "log_large", base: GENESIS, head } },
    ...lines,
  ];
  let digest = FIRST_DIGEST;
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < whole.length; at += 1_000) {
    const texts = whole.slice(at, at + 1_000).map((line) => toLine(line));
    for (const text of texts) digest = hasher.sha256(digestInput(digest, text));
    pieces.push(utf8(texts.map((text) => `${text}\n`).join("")));
  }
  const anchors = Math.floor(events / EVERY);
  const end = { logs: 1, events, anchors, digest, at: 1_000, keyId: signer.keyId };
  const signature = await signer.sign(endMessage(end));
  pieces.push(utf8(`${toLine({ type: "end", end: { ...end, signature } })}\n`));
  return {
    keys: [key],
    async *pieces() {
      yield* pieces;
    },
  };
}
