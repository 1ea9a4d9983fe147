/**
 * SocketCapability: hands what arrives on our sockets to the hub. The SDK's own connections never see them: they carry
 * another attachment.
 */
import { LifecycleCapability } from "agents/lifecycle";

export interface SocketEvents {
  /** False for a socket that is not one of ours. */
  message(socket: WebSocket, data: string | ArrayBuffer): Promise<boolean>;
  closed(socket: WebSocket): boolean;
}

export class SocketCapability extends LifecycleCapability {
  readonly #events: SocketEvents;

  constructor(events: SocketEvents) {
    super("holdfast-sockets");
    this.#events = events;
  }

  onWebSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<boolean> {
    return this.#events.message(socket, data);
  }

  onWebSocketClose(socket: WebSocket, code: number): boolean {
    const ours = this.#events.closed(socket);
    // 1005 and 1006 say that no code was sent; they may not be sent back.
    if (ours) socket.close(code === 1005 || code === 1006 ? 1000 : code, "");
    return ours;
  }

  onWebSocketError(socket: WebSocket): boolean {
    return this.#events.closed(socket);
  }
}
