/** A receiver of webhooks on 127.0.0.1: keeps what it was told, checks each signature, and takes a moment to answer. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { JsonObject } from "#shared/json.ts";
import { checkSignature } from "#shared/webhook-signatures.ts";

export interface Telling {
  readonly id: string;
  readonly data: JsonObject;
}

export class WebhookReceiver implements AsyncDisposable {
  readonly told: Telling[] = [];
  /** Ids of what nobody signed who knows the secret. */
  readonly forged: string[] = [];
  secret = "";
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  static async start(thinkingMs: number): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server);
    server.on("request", (request, response) => {
      void receiver
        .#take(request)
        .then(() => pause(thinkingMs))
        // Whoever asked may be dead by now.
        .then(
          () => response.writeHead(200).end(),
          () => response.destroy(),
        );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  async #take(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const header = (name: string): string | null => String(request.headers[name] ?? "");
    const id = header("webhook-id") ?? "";
    const checked = await checkSignature(
      "standard",
      { header, body },
      { secrets: [this.secret], now: Date.now() },
    );
    if (!checked.ok) this.forged.push(id);
    this.told.push({ id, data: (JSON.parse(body.toString()) as { data: JsonObject }).data });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
