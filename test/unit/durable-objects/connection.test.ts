/** One socket: what it may be sent and may send, without a platform. */
import { describe, expect, it } from "vitest";
import { Connection } from "#durable-objects/agent/sockets/connection.ts";
import { trusted, type TenantId } from "#shared/ids.ts";

const CALLER = { tenant: trusted<TenantId>("acme"), kind: "user", id: "ada", scopes: [] } as const;
const BEARER = { caller: CALLER, credential: { keyId: "key_1", expiresAt: null } };

class Socket {
  readyState: number = WebSocket.OPEN;
  attachment: unknown = null;
  bytes = 0;
  closed: number | null = null;

  send(text: string): void {
    this.bytes += text.length;
  }
  close(code: number): void {
    this.closed = code;
    this.readyState = WebSocket.CLOSED;
  }
  serializeAttachment(value: unknown): void {
    this.attachment = structuredClone(value);
  }
  deserializeAttachment(): unknown {
    return this.attachment;
  }
}

function open(): { readonly socket: Socket; readonly connection: Connection } {
  const socket = new Socket();
  const platform = socket as unknown as WebSocket;
  return { socket, connection: Connection.accept(platform, { bearer: BEARER, seq: 7, now: 1 }) };
}

describe("a connection", () => {
  it("[P33] is cut off once more lies unread than a reader may hold, and sends nothing after", () => {
    const { socket, connection } = open();
    const mebibyte = "x".repeat(1024 * 1024);
    for (let sent = 0; sent < 20; sent += 1) connection.send(mebibyte);
    expect(socket.closed).toBe(1013);
    expect(socket.bytes).toBe(9 * 1024 * 1024);
  });

  it("[P33] is not cut off while its client speaks", () => {
    const { socket, connection } = open();
    const mebibyte = "x".repeat(1024 * 1024);
    for (let sent = 0; sent < 20; sent += 1) {
      connection.send(mebibyte);
      connection.heard(sent * 1_000);
    }
    expect(socket.closed).toBeNull();
  });

  it("[P34] takes a burst, then so many frames a second", () => {
    const { connection } = open();
    const taken = (now: number, count: number): number =>
      Array.from({ length: count }, () => connection.heard(now)).filter(Boolean).length;
    expect(taken(0, 500)).toBe(120);
    expect(taken(1_000, 500)).toBe(20);
  });

  it("[P35] is what it was after hibernation", () => {
    const { socket, connection } = open();
    connection.expect("run_1", "request_1");
    connection.waiting = { runId: "run_1", seq: 9 };
    connection.seq = 9;
    connection.persist();
    const restored = Connection.restore(socket as unknown as WebSocket);
    expect(restored?.caller).toEqual(CALLER);
    expect([restored?.seq, restored?.waiting, restored?.runOf("request_1")]).toEqual([
      9,
      { runId: "run_1", seq: 9 },
      "run_1",
    ]);
    socket.attachment = { __pk: "the SDK's own" };
    expect(Connection.restore(socket as unknown as WebSocket)).toBeNull();
  });

  it("[P35] keeps its attachment far below the platform's 2 KiB", () => {
    const { socket, connection } = open();
    for (let run = 0; run < 50; run += 1)
      connection.expect(`run_${run}`.padEnd(36, "x"), "r".repeat(128));
    connection.persist();
    expect(JSON.stringify(socket.attachment).length).toBeLessThan(1_500);
  });
});
