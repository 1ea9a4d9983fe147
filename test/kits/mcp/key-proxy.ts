/** The suites send no credentials, so a proxy adds the key. Everything else, Host and Origin among it, passes as it is. */
import { createServer, request as forward, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface KeyProxy {
  readonly url: string;
  close(): void;
}

export async function startKeyProxy(target: string, key: string): Promise<KeyProxy> {
  const { hostname, port } = new URL(target);
  const proxy: Server = createServer((incoming, outgoing) => {
    const headers = { authorization: `Bearer ${key}`, ...incoming.headers };
    const { method, url: path } = incoming;
    const onward = forward({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((listening) => {
    proxy.listen(0, "127.0.0.1", listening);
  });
  // A server that listens on a port has an address of this shape.
  const { port: own } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    close: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
